import type { Actor } from "../auth/index.ts";
import type { Turn } from "./index.ts";
import type { SessionRunners } from "./session-runners.ts";
import type { TurnContext } from "./turn-context.ts";
import { type OpenTurn, toOpenTurn, toTurn } from "./turn-rows.ts";

/**
 * Null when the session is not this person's. The same key gives the turn that is there already. With it
 * comes what is to run next in the session, so that it need not be asked for again. Where the sandbox runs
 * here and the session is quiet, the turn begins in the same write, and the sandbox is looked at meanwhile.
 */
export async function insertTurn(
  { log, lifecycle, agents, ids }: TurnContext,
  actor: Actor,
  input: { sessionId: string; prompt: string; idempotencyKey: string; runners: Pick<SessionRunners, "isQuiet"> },
): Promise<{ turn: Turn; open: OpenTurn | null } | null> {
  const { runners, ...start } = input;
  const { sessionId } = start;
  const running = runners.isQuiet(sessionId) ? lifecycle.lookAhead({ actor, sessionId }) : null;
  const bus = running && !running.signal.aborted ? agents.get(running).bus : null;
  const prompting =
    running && bus?.connected && bus.passed > 0
      ? { messageId: ids.messageId(), appliedEvent: bus.passed, bootId: running.sidecar.bootId }
      : null;
  const ahead = running && prompting && { ...running, ...prompting };
  const started = await log.startTurn({ actor, ...start, ahead });
  if (!started) return null;
  const turn = toTurn(started.turn);
  const open = started.open ? toOpenTurn(started.open) : null;
  if (!open || !started.begun || !prompting || open.id !== turn.id) return { turn, open };
  return {
    turn,
    open: { ...open, state: "queued", agentMessageId: null, begun: { ...started.begun, prompting } },
  };
}
