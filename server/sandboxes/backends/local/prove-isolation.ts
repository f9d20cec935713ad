import { type Bubblewrap, findBubblewrap } from "./find-bubblewrap.ts";
import { isolationHint } from "./isolation-hint.ts";
import { trySandbox } from "./try-sandbox.ts";

export interface IsolationTrial {
  /** The directories in which `bwrap` is looked for, separated by colons. */
  searchPath: string;
  signal: AbortSignal;
  deadlineMilliseconds?: number;
}

/** What it was proved with, or what failed and what to do. */
export type IsolationProof = { bubblewrap: Bubblewrap; detail: string } | { reason: string };

/**
 * Proves by one real run what a sandbox on this machine can promise. It never throws for a missing
 * or forbidden bubblewrap; only when `signal` says so.
 */
export async function proveIsolation(trial: IsolationTrial): Promise<IsolationProof> {
  const { searchPath, signal, deadlineMilliseconds = 10_000 } = trial;
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(deadlineMilliseconds)]);
  try {
    const found = await findBubblewrap(searchPath, bounded);
    if ("reason" in found) return found;
    const problems = await trySandbox(found, bounded);
    if (problems.length > 0) return { reason: `A test sandbox was not fully isolated: ${problems.join("; ")}.` };
    return { bubblewrap: found, detail: `bubblewrap ${found.version}: separate files, processes, users and network` };
  } catch (error) {
    signal.throwIfAborted();
    const message = bounded.aborted ? `no answer within ${deadlineMilliseconds / 1000} s` : (error as Error).message;
    return { reason: `A test sandbox did not start (${message}). ${isolationHint()}` };
  }
}
