import type { TurnEnd } from "../sessions/index.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import { failed } from "./turn-context.ts";
import { findUndoable, listRedoable } from "./undo-rows.ts";

/**
 * Undo and redo: opencode takes messages and files back by its own snapshots. Repeating it is harmless, and
 * which turns it was is stored with the end, so that a takeover in between does not take back one more.
 */
export async function revertTurn({ context, job, sandbox, connection, agentSessionId }: DrivenTurn): Promise<TurnEnd> {
  const { database } = context;
  const { actor, turn } = job;
  const signal = AbortSignal.any([job.stop, job.closing, sandbox.signal]);
  if (turn.kind === "undo") {
    const found = await findUndoable(database, actor, turn.sessionId);
    if (!found) return { ...failed("nothing-to-undo", "There is no turn to undo."), usage: null };
    await connection.client.revert({ agentSessionId, messageId: found.agentMessageId, signal });
    return { outcome: "finished", usage: null, undone: found.turnIds };
  }
  const turnIds = await listRedoable(database, actor, turn.sessionId);
  if (turnIds.length === 0) return { ...failed("nothing-to-redo", "There is nothing to redo."), usage: null };
  await connection.client.unrevert(agentSessionId, signal);
  return { outcome: "finished", usage: null, redone: turnIds };
}
