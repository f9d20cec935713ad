import { Problem } from "./sidecar-problem.ts";

/**
 * Who is at a session's directory as a whole. Any number share it: they archive it, make sure of it, change files in
 * it. One that replaces, removes or first makes it has it alone: it waits for those that came before, and who comes
 * later waits for it. A wait ends with its signal.
 */
export interface WorkspaceLocks {
  share<Result>(sessionId: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
  /** Refused, instead of waiting, while somebody has it alone or waits for that. */
  shareNow<Result>(sessionId: string, work: () => Promise<Result>): Promise<Result>;
  haveAlone<Result>(sessionId: string, signal: AbortSignal | null, work: () => Promise<Result>): Promise<Result>;
}

interface Place {
  readonly alone: boolean;
  readonly turn: PromiseWithResolvers<void>;
}

export function createWorkspaceLocks(): WorkspaceLocks {
  const lines = new Map<string, Place[]>();

  async function hold<Result>(
    sessionId: string,
    { alone, signal }: { alone: boolean; signal: AbortSignal | null },
    work: () => Promise<Result>,
  ): Promise<Result> {
    const line = lines.get(sessionId) ?? [];
    lines.set(sessionId, line);
    const place: Place = { alone, turn: Promise.withResolvers() };
    const leave = () => place.turn.reject(signal?.reason);
    line.push(place);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      signal?.throwIfAborted();
      callUp(line);
      await place.turn.promise;
      return await work();
    } finally {
      signal?.removeEventListener("abort", leave);
      line.splice(line.indexOf(place), 1);
      callUp(line);
      if (line.length === 0) lines.delete(sessionId);
    }
  }

  return {
    share: (sessionId, signal, work) => hold(sessionId, { alone: false, signal }, work),
    async shareNow(sessionId, work) {
      if (lines.get(sessionId)?.some(({ alone }) => alone)) {
        throw new Problem(
          "conflict",
          "The files of this session are being restored or removed. Try again when that is done.",
        );
      }
      return hold(sessionId, { alone: false, signal: null }, work);
    },
    haveAlone: (sessionId, signal, work) => hold(sessionId, { alone: true, signal }, work),
  };
}

/** Lets in whoever nobody before stands in the way of. */
function callUp(line: readonly Place[]): void {
  for (const [index, { alone, turn }] of line.entries()) {
    if (alone && index > 0) return;
    turn.resolve();
    if (alone) return;
  }
}
