import { describeFaults } from "./describe-faults.ts";
import { turnFaults } from "./turn-faults.ts";

describeFaults(turnFaults);
