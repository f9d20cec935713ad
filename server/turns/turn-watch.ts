import type { DrivenTurn } from "./drive-turn.ts";
import { failed, stopped, type TurnEnding } from "./turn-context.ts";

/**
 * Everything that ends a turn besides the agent itself: a lost sandbox, the server's end, the limits,
 * and a stop that the agent does not obey. The first to come gives the cause and ends the listening.
 */
export interface TurnWatch {
  /** Null while nothing came, and for the server's end. */
  readonly cause: TurnEnding | null;
  /** The agent gave a sign of life. */
  seen(): void;
  /** It began to work: told to stop before that, it did not hear. */
  begun(): void;
  end(): void;
}

export function createTurnWatch(
  { context, job, sandbox, connection, agentSessionId }: DrivenTurn,
  { close, isAsking }: { close(): void; isAsking(): boolean },
): TurnWatch {
  const { turnMilliseconds, inactivityMilliseconds, stopMilliseconds } = context.limits;
  const timers = new Set<NodeJS.Timeout>();
  let cause: TurnEnding | null = null;
  let seenAt = Date.now();

  const give = (ending: TurnEnding | null) => {
    cause ??= job.stop.aborted && ending ? stopped : ending;
    close();
  };
  const later = (milliseconds: number, run: () => void) => timers.add(setTimeout(run, Math.max(0, milliseconds)));
  const minutes = Math.round(turnMilliseconds / 60_000);
  const seconds = Math.round(inactivityMilliseconds / 1000);

  const onLost = () => give(failed("sandbox-lost", messageOf(sandbox.signal.reason)));
  const onClosing = () => give(null);
  const tellToStop = () => {
    const signal = AbortSignal.any([sandbox.signal, AbortSignal.timeout(stopMilliseconds)]);
    connection.client.abort(agentSessionId, signal).catch((error: unknown) => {
      context.logger.warn({ err: error, turnId: job.turn.id }, "The agent could not be told to stop");
    });
  };
  const onStop = () => {
    tellToStop();
    later(stopMilliseconds, () => give(stopped));
  };
  const checkActivity = () => {
    const quiet = Date.now() - seenAt;
    if (isAsking()) seenAt = Date.now();
    else if (quiet >= inactivityMilliseconds) {
      return give(failed("timeout", `The agent did not respond for ${seconds} seconds.`));
    }
    later(Math.max(inactivityMilliseconds - quiet, 10), checkActivity);
  };
  const listeners = [
    [sandbox.signal, onLost],
    [job.closing, onClosing],
    [job.stop, onStop],
  ] as const;
  for (const [signal, listener] of listeners) {
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
  }
  const startedAt = job.turn.startedAt?.getTime() ?? Date.now();
  later(startedAt + turnMilliseconds - Date.now(), () =>
    give(failed("timeout", `The turn took longer than ${minutes} minutes.`)),
  );
  later(inactivityMilliseconds, checkActivity);

  return {
    get cause() {
      return cause;
    },
    seen() {
      seenAt = Date.now();
    },
    begun() {
      if (job.stop.aborted) tellToStop();
    },
    end() {
      for (const timer of timers) clearTimeout(timer);
      for (const [signal, listener] of listeners) signal.removeEventListener("abort", listener);
    },
  };
}

function messageOf(reason: unknown): string {
  return reason instanceof Error && reason.message ? reason.message : "The sandbox ended unexpectedly.";
}
