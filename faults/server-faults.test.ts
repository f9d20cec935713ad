import { describeFaults } from "./describe-faults.ts";
import { serverFaults } from "./server-faults.ts";

describeFaults(serverFaults);
