import { describeFaults } from "./describe-faults.ts";
import { verbFaults } from "./verb-faults.ts";

describeFaults(verbFaults);
