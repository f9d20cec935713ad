import { findBubblewrap } from "./backends/local/find-bubblewrap.ts";
import { isolationHint } from "./backends/local/isolation-hint.ts";
import { trySandbox } from "./backends/local/try-sandbox.ts";

export type Isolation = { kind: "sandboxed"; detail: string } | { kind: "host"; reason: string };

export interface IsolationProbe {
  wanted: "auto" | "sandboxed" | "host";
  /** The directories in which `bwrap` is looked for, separated by colons. */
  searchPath: string;
  signal: AbortSignal;
  deadlineMilliseconds?: number;
}

/**
 * Proves by one real run what a sandbox on this machine can promise. It never throws for a missing
 * or forbidden bubblewrap: `reason` then says what failed and what to do. Whoever wanted
 * `sandboxed` and gets `host` must refuse to go on; nothing falls back here in silence.
 */
export async function probeIsolation(probe: IsolationProbe): Promise<Isolation> {
  const { wanted, searchPath, signal, deadlineMilliseconds = 10_000 } = probe;
  if (wanted === "host")
    return { kind: "host", reason: "Chosen by DORMOUSE_ISOLATION=host: the agent is not isolated." };
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(deadlineMilliseconds)]);
  try {
    const found = await findBubblewrap(searchPath, bounded);
    if ("reason" in found) return { kind: "host", reason: found.reason };
    const problems = await trySandbox(found, bounded);
    if (problems.length > 0)
      return { kind: "host", reason: `A test sandbox was not fully isolated: ${problems.join("; ")}.` };
    return { kind: "sandboxed", detail: `bubblewrap ${found.version}: separate files, processes, users and network` };
  } catch (error) {
    signal.throwIfAborted();
    const message = bounded.aborted ? `no answer within ${deadlineMilliseconds / 1000} s` : (error as Error).message;
    return { kind: "host", reason: `A test sandbox did not start (${message}). ${isolationHint()}` };
  }
}
