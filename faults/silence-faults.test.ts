import { describeFaults } from "./describe-faults.ts";
import { silenceFaults } from "./silence-faults.ts";

describeFaults(silenceFaults);
