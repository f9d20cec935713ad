import { type ChildProcess, spawn } from "node:child_process";

export interface ProgramRun {
  path: string;
  parameters: readonly string[];
  /** The whole environment of the program; nothing of ours is added. */
  environment: Record<string, string>;
  /** Handed over as descriptor 3 and up; the program may write to a "pipe", and nobody reads it. */
  descriptors?: readonly (number | "pipe")[];
  /** Runs it as somebody else; only root may. */
  uid?: number | null;
  signal: AbortSignal;
}

export interface ProgramEnd {
  /** Null when a signal ended it. */
  code: number | null;
  output: string;
  complaint: string;
}

/**
 * Runs a program to its end, or rejects as soon as `signal` is aborted. It gets a process group of its
 * own, so that what it started ends with it; and nobody waits for its output to close, which a
 * descendant that outlives it could keep open for ever.
 */
export async function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  run.signal.throwIfAborted();
  const child = spawn(run.path, run.parameters, {
    // Next's types ask every environment for NODE_ENV.
    env: run.environment as NodeJS.ProcessEnv,
    stdio: ["ignore", "pipe", "pipe", ...(run.descriptors ?? [])],
    detached: true,
    ...(run.uid === null || run.uid === undefined ? {} : { uid: run.uid, gid: run.uid }),
  });
  const end: ProgramEnd = { code: null, output: "", complaint: "" };
  child.stdout?.on("data", (chunk) => {
    end.output = (end.output + chunk).slice(-100_000);
  });
  child.stderr?.on("data", (chunk) => {
    end.complaint = (end.complaint + chunk).slice(-2_000);
  });
  for (const pipe of child.stdio.slice(3)) pipe?.on("error", () => {});
  try {
    end.code = await ended(child, run.signal);
    return end;
  } finally {
    endGroup(child);
    for (const stream of child.stdio) stream?.destroy();
  }
}

function ended(child: ChildProcess, signal: AbortSignal): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    child.on("error", (error) => {
      signal.removeEventListener("abort", onAbort);
      reject(error);
    });
    // What it wrote before its end may still be on its way: a descendant decides when the pipe closes, so wait a moment only.
    child.on("exit", (code) => {
      signal.removeEventListener("abort", onAbort);
      const late = setTimeout(() => resolve(code), 250);
      child.on("close", () => {
        clearTimeout(late);
        resolve(code);
      });
    });
  });
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
