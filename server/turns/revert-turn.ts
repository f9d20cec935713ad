import { setTimeout as sleep } from "node:timers/promises";
import { failureOfError, isAgentAnswer } from "../agent/index.ts";
import { isRefused } from "../errors.ts";
import type { TurnEnd } from "../sessions/index.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import { failed, stopped } from "./turn-context.ts";
import { findUndoable, listRedoable, listUnfinished } from "./undo-rows.ts";

/** An undo or redo as it would be done now. */
export interface Reversal {
  end: Pick<TurnEnd, "undone" | "redone">;
  send(signal: AbortSignal): Promise<void>;
  /** By the message from which on the agent has taken everything back. */
  isDone(reverted: string | null): boolean;
}

const lookMilliseconds = 20_000;
const pauseMilliseconds = 500;
/** Of looks that see nothing done: the request may still have been on its way at the first. */
const minLooks = 3;

/**
 * Undo and redo: opencode takes messages and files back by its own snapshots, and goes on with it though nobody
 * waits any more. So a stop does not cut the request short, and what is said is what the agent says it did.
 * Where that cannot be found out, the next turn begins with it (`settle-verbs.ts`).
 */
export async function revertTurn(driven: DrivenTurn): Promise<TurnEnd> {
  const { job, sandbox } = driven;
  const { kind } = job.turn;
  const reversal = kind === "undo" ? await planUndo(driven) : await planRedo(driven);
  if (!reversal) {
    const words = kind === "undo" ? "There is no turn to undo." : "There is nothing to redo.";
    return { ...failed(`nothing-to-${kind}`, words), usage: null };
  }
  const done: TurnEnd = { outcome: "finished", usage: null, ...reversal.end };
  const lost = AbortSignal.any([job.closing, sandbox.signal]);
  // By the server before this one, or by a turn that could not find out.
  if (reversal.isDone(await findReverted(driven, AbortSignal.any([lost, job.stop])))) {
    if (kind === "undo" || (await wasTried(driven))) return done;
    return { ...failed("nothing-to-redo", "The agent no longer has what was undone."), usage: null };
  }
  job.stop.throwIfAborted();
  job.heard = "perhaps";
  try {
    await reversal.send(driven.signal);
    return done;
  } catch (error) {
    if (isAgentAnswer(error)) job.heard = "no";
    if (lost.aborted || isRefused(error) || isAgentAnswer(error)) throw error;
    const found = await look(driven, reversal);
    if (found === "done") return done;
    if (found === "not-done" && job.stop.aborted) return { ...stopped, usage: null };
    if (found === "not-done") {
      const { code, message } = failureOfError(error);
      return { ...failed(code, `${message} Nothing was changed.`), usage: null };
    }
    const words =
      "The agent does not answer, so it is not known yet whether this was done. Send your next message: Dormouse finds out first, and says what was done.";
    return { ...failed("unknown", words), usage: null };
  }
}

/** Null when there is nothing to undo. */
export async function planUndo(driven: OpenedAgent): Promise<Reversal | null> {
  const { context, job, connection, agentSessionId } = driven;
  const found = await findUndoable(context.database, job.actor, job.turn.sessionId);
  if (!found) return null;
  const messageId = found.agentMessageId;
  return {
    end: { undone: found.turnIds },
    send: (signal) => connection.client.revert({ agentSessionId, messageId, signal }),
    isDone: (reverted) => reverted === messageId,
  };
}

export async function planRedo(driven: OpenedAgent): Promise<Reversal | null> {
  const { context, job, connection, agentSessionId } = driven;
  const turnIds = await listRedoable(context.database, job.actor, job.turn.sessionId);
  if (turnIds.length === 0) return null;
  return {
    end: { redone: turnIds },
    send: (signal) => connection.client.unrevert(agentSessionId, signal),
    isDone: (reverted) => reverted === null,
  };
}

export type OpenedAgent = Pick<DrivenTurn, "context" | "job" | "connection" | "agentSessionId">;

async function wasTried({ context, job }: DrivenTurn): Promise<boolean> {
  // One that only waited for the agent did not get as far.
  const wasSent = job.heard !== "no" || (job.isResumed && job.turn.tries === 0);
  return wasSent || (await listUnfinished(context.database, job.actor, job.turn)).includes("redo");
}

async function look(driven: DrivenTurn, { isDone }: Reversal): Promise<"done" | "not-done" | "unknown"> {
  const { context, job, sandbox } = driven;
  const { lastLookMilliseconds } = context.limits;
  const patience = AbortSignal.timeout(job.stop.aborted ? lastLookMilliseconds : lookMilliseconds);
  // A stop that comes meanwhile has its own; one that came before has used it up.
  const stopLate = job.stop.aborted ? [] : [job.stopLate];
  const signal = AbortSignal.any([job.closing, sandbox.signal, patience, ...stopLate]);
  for (let looks = 0; ; ) {
    try {
      if (isDone(await findReverted(driven, signal))) return "done";
      looks += 1;
      if (looks === minLooks) return "not-done";
    } catch (error) {
      job.closing.throwIfAborted();
      if (isRefused(error)) throw error;
      if (signal.aborted || isAgentAnswer(error)) return "unknown";
    }
    await sleep(pauseMilliseconds, undefined, { signal }).catch(() => {});
  }
}

function findReverted({ connection, agentSessionId }: OpenedAgent, signal: AbortSignal): Promise<string | null> {
  return connection.client.findReverted(agentSessionId, signal);
}
