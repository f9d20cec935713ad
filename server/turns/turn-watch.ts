import { causes } from "../protocol/causes.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import type { TurnAsks } from "./turn-asks.ts";
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

const minPauseMilliseconds = 10;

export function createTurnWatch(
  { context, job, sandbox, connection, agentSessionId }: DrivenTurn,
  { close, turnAsks }: { close(): void; turnAsks: Pick<TurnAsks, "pending" | "waitedMilliseconds"> },
): TurnWatch {
  const { turnMilliseconds, inactivityMilliseconds } = context.limits;
  const timers = new Set<NodeJS.Timeout>();
  let cause: TurnEnding | null = null;
  let seenAt = Date.now();

  const give = (ending: TurnEnding | null) => {
    cause ??= job.stop.aborted && ending ? stopped : ending;
    close();
  };
  const later = (milliseconds: number, run: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, milliseconds);
    timers.add(timer);
  };
  const minutes = Math.round(turnMilliseconds / 60_000);
  const seconds = Math.round(inactivityMilliseconds / 1000);

  const onLost = () => give(failed("sandbox-lost", messageOf(sandbox.signal.reason)));
  const onClosing = () => give(null);
  const tellToStop = () => {
    const signal = AbortSignal.any([sandbox.signal, job.stopLate]);
    connection.client.abort(agentSessionId, signal).catch((error: unknown) => {
      if (job.closing.aborted) return;
      context.logger.warn({ err: error, turnId: job.turn.id }, "The agent could not be told to stop");
    });
  };
  const onLate = () => give(stopped);
  const checkActivity = () => {
    const quiet = Date.now() - seenAt;
    if (turnAsks.pending > 0) seenAt = Date.now();
    else if (quiet >= inactivityMilliseconds) {
      return give(
        failed(
          "timeout",
          `The agent did not respond for ${seconds} seconds. Changes made so far are kept. Send your message again.`,
        ),
      );
    }
    later(Math.max(inactivityMilliseconds - quiet, minPauseMilliseconds), checkActivity);
  };
  const listeners = [
    [sandbox.signal, onLost],
    [job.closing, onClosing],
    [job.stop, tellToStop],
    [job.stopLate, onLate],
  ] as const;
  for (const [signal, listener] of listeners) {
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
  }
  const startedAt = job.turn.startedAt?.getTime() ?? Date.now();
  // The limit stands still while the agent waits for a person: then there is as much left later as now.
  const checkLimit = () => {
    const left = startedAt + turnMilliseconds + turnAsks.waitedMilliseconds - Date.now();
    if (left <= 0 && turnAsks.pending === 0) {
      return give(
        failed(
          "timeout",
          `The turn took longer than ${minutes} minutes and was ended. Changes made so far are kept. Send a message to go on.`,
        ),
      );
    }
    later(Math.max(left, minPauseMilliseconds), checkLimit);
  };
  checkLimit();
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
  return reason instanceof Error && reason.message ? reason.message : causes["sandbox-ended"].message;
}
