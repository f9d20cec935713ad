import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** One of the system's own, with nothing of our environment. Throws when it fails or takes longer than that. */
export async function runSystemProgram(program: string, parameters: string[], milliseconds: number): Promise<void> {
  const environment = { PATH: "/usr/local/bin:/usr/bin:/bin" } as unknown as NodeJS.ProcessEnv;
  await run(program, parameters, { env: environment, timeout: milliseconds });
}
