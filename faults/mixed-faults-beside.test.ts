import { describeFaults } from "./describe-faults.ts";
import { mixedFaults } from "./mixed-faults.ts";

describeFaults(mixedFaults, { share: 1, of: 2 });
