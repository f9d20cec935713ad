import { runHelper } from "../processes/helper-programs.ts";

/** One of the system's own, with nothing of our environment. Throws when it fails or takes longer than that. */
export async function runSystemProgram(program: string, parameters: string[], timeout: number): Promise<void> {
  await runHelper(program, parameters, { environment: { PATH: "/usr/local/bin:/usr/bin:/bin" }, timeout });
}
