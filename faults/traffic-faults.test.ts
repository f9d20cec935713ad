import { describeFaults } from "./describe-faults.ts";
import { namedTrafficFaults } from "./traffic-faults.ts";

describeFaults(namedTrafficFaults);
