import { describeFaults } from "./describe-faults.ts";
import { mixedFaults, mixedTimeout } from "./mixed-faults.ts";

describeFaults(mixedFaults, { share: 1, of: 2, timeout: mixedTimeout });
