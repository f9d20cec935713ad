import type { Actor } from "../auth/index.ts";
import { isRefused } from "../errors.ts";
import { stopped, type TurnContext } from "./turn-context.ts";
import type { OpenTurn } from "./turn-rows.ts";

/**
 * Ends a turn that was stopped while the machine of its sandbox is away, so that nobody can tell its agent. The end
 * says so, and the session is marked for whoever runs the sandbox next. False where that machine is back, or somebody
 * else was faster: then it is theirs.
 */
export async function endAwayTurn(
  { lifecycle, log }: Pick<TurnContext, "lifecycle" | "log">,
  actor: Actor,
  turn: OpenTurn,
): Promise<boolean> {
  const { id: turnId, sessionId, sandboxId, homeId, kind } = turn;
  if (sandboxId === null || lifecycle.isReachable(homeId)) return false;
  const away = await lifecycle.supersedeAway({ actor, sandboxId });
  if (!away) return false;
  const { leaseEpoch, bootId, machine } = away;
  const writer = await log.openWriter({ actor, sessionId, turnId, sandboxId, leaseEpoch, bootId });
  try {
    const mayBeHeard = turn.state === "running" && (kind !== "prompt" || turn.agentMessageId !== null);
    if (turn.state === "queued") {
      await writer.beginTurn({ prompt: kind === "prompt" ? turn.prompt : null, revision: turn.revision });
    }
    const untold = mayBeHeard ? { untold: true, machine: machine ?? "another machine" } : {};
    return await writer.endTurn({ ...stopped, ...untold, usage: null });
  } catch (error) {
    if (isRefused(error)) return false;
    throw error;
  } finally {
    await writer.close().catch(() => {});
  }
}
