import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import { codeOf } from "../problem.ts";

const run = promisify(execFile);
const deadline = 60_000;

/** Idempotent. Some tools leave folders that even their owner may not empty. */
export async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch (error) {
    if (codeOf(error) !== "EACCES" && codeOf(error) !== "EPERM") throw error;
    const environment = { PATH: "/usr/local/bin:/usr/bin:/bin" } as unknown as NodeJS.ProcessEnv;
    await run("chmod", ["-R", "u+rwX", directory], { env: environment, timeout: deadline });
    await rm(directory, { recursive: true, force: true });
  }
}
