import { rm } from "node:fs/promises";
import { codeOf } from "../sidecar-problem.ts";
import { runSystemProgram } from "./run-system-program.ts";

const deadline = 60_000;

/** Idempotent. Some tools leave folders that even their owner may not empty. */
export async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch (error) {
    if (codeOf(error) !== "EACCES" && codeOf(error) !== "EPERM") throw error;
    await runSystemProgram("chmod", ["-R", "u+rwX", directory], deadline);
    await rm(directory, { recursive: true, force: true });
  }
}
