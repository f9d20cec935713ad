import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../db/database-problem.ts";
import { isAppError, isRefused } from "../errors.ts";
import { mayPass } from "./may-pass.ts";
import { emptyPreflight } from "./preflight.ts";
import type { TurnContext, TurnJob } from "./turn-context.ts";
import { findOpenTurn } from "./turn-rows.ts";

/**
 * A turn that could not be handed to the agent stays running, and is tried again after growing pauses for as long as a
 * turn may take (ARCHITECTURE.md, invariant 13). Each try is as after a takeover: what is known of the turn is read
 * anew, so that a prompt that was heard after all is found, and one that was not is sent with the same ids.
 */
export function isToWait({ limits }: TurnContext, job: TurnJob, error: unknown): boolean {
  if (job.stop.aborted || !mayPass(error)) return false;
  // The agent goes on while the database is away, and is listened to again.
  if (job.heard === "yes" && !isOfDatabase(error)) return false;
  return Date.now() < limitOf(limits, job);
}

function isOfDatabase(error: unknown): boolean {
  return isAppError(error) ? error.code === "database" : errorCode(error) !== undefined;
}

/** One try more has failed: when the next one is due, at the latest when the turn's time is over. */
export function planTry({ limits }: TurnContext, { turn }: TurnJob): Date {
  const pause = limits.tryPauses[Math.min(turn.tries, limits.tryPauses.length - 1)] ?? limits.tryPauses[0];
  turn.tries += 1;
  return new Date(Math.min(Date.now() + pause, limitOf(limits, { turn })));
}

/** Waits until then, or until somebody wants it tried now, or stopped. False when the turn is not to be tried here any more. */
export async function nextTry(context: TurnContext, job: TurnJob, due: Date): Promise<boolean> {
  const { turn, actor } = job;
  await pause(job, due);
  for (;;) {
    if (job.closing.aborted) return false;
    try {
      const found = await findOpenTurn(context.database, actor, turn.sessionId);
      if (found?.id !== turn.id || found.state !== "running") return false;
      // Where the database was away, fewer tries are stored than there were.
      job.turn = { ...found, tries: Math.max(found.tries, turn.tries) };
      job.preflight = emptyPreflight(context);
      job.begun = null;
      job.isResumed = true;
      if (job.heard === "yes") job.heard = "perhaps";
      return true;
    } catch (error) {
      if (isRefused(error)) return false;
      await pause(job, new Date(Date.now() + context.limits.tryPauses[0]));
    }
  }
}

async function pause(job: TurnJob, due: Date): Promise<void> {
  const isNow = new AbortController();
  job.onTryNow = () => isNow.abort();
  const signal = AbortSignal.any([job.stop, job.closing, isNow.signal]);
  await sleep(Math.max(0, due.getTime() - Date.now()), undefined, { signal }).catch(() => {});
  job.onTryNow = null;
}

function limitOf({ turnMilliseconds }: TurnContext["limits"], { turn }: Pick<TurnJob, "turn">): number {
  return (turn.startedAt?.getTime() ?? Date.now()) + turnMilliseconds;
}
