import { type ExecFileOptions, execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const running = new Set<number>();

/**
 * A program that the sidecar runs for its own work, such as git, and waits for. The agent's being frozen does not
 * touch it. Throws when it fails, or is late.
 */
export async function runHelper(
  program: string,
  parameters: string[],
  options: { environment: Record<string, string>; timeout: number },
): Promise<void> {
  const { environment, timeout } = options;
  const started = run(program, parameters, { env: environment as unknown as ExecFileOptions["env"], timeout });
  const { pid } = started.child;
  if (pid !== undefined) {
    running.add(pid);
    // At once, so that its number never stands here for somebody else.
    started.child.once("exit", () => running.delete(pid));
  }
  await started;
}

/** Those that run now. */
export function helperPids(): ReadonlySet<number> {
  return running;
}
