import { describeFaults } from "./describe-faults.ts";
import { mixedFaults, mixedTimeout } from "./mixed-faults.ts";

describeFaults(mixedFaults, { share: 0, of: 2, timeout: mixedTimeout });
