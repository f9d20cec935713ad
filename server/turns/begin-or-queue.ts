import { createHash } from "node:crypto";
import { startTurn } from "../../db/queries/start-turn.ts";
import type { Actor } from "../auth/index.ts";
import { reusedKey } from "./change-queue.ts";
import type { Turn } from "./index.ts";
import { createPreflight, emptyPreflight } from "./preflight.ts";
import { fullQueue } from "./queue-limits.ts";
import type { SessionRunners } from "./session-runners.ts";
import type { NextTurn, TurnContext } from "./turn-context.ts";
import { toOpenTurn, toTurn } from "./turn-rows.ts";

export type AcceptedPrompt =
  /** It runs from here on, in this process, and its prompt is in the log. */
  | { turn: Turn; begun: NextTurn }
  /** It waits. With what is to begin next in the session, so that it need not be asked for; null when something runs. */
  | { turn: Turn; queued: NextTurn | null }
  /** The same key came before, and that turn has begun since. */
  | { turn: Turn; known: true };

/**
 * Null when the session is not this person's. The same key gives the turn that is there already, and is
 * refused with other words. Where the sandbox runs here and the session is quiet, the turn begins in the write
 * that stores it, and the sandbox is looked at meanwhile.
 */
export async function beginOrQueue(
  context: TurnContext,
  actor: Actor,
  input: { sessionId: string; prompt: string; idempotencyKey: string; runners: Pick<SessionRunners, "isQuiet"> },
): Promise<AcceptedPrompt | null> {
  const { database, log } = context;
  const { runners, ...start } = input;
  const { sessionId } = start;
  const preflight = runners.isQuiet(sessionId)
    ? createPreflight(context, actor, { sessionId })
    : emptyPreflight(context);
  const { tenantId, userId } = actor;
  const { ahead } = preflight;
  const started = await startTurn(database, { ...start, tenantId, userId, ahead, origin: log.origin });
  if (!started) return null;
  if (!started.turn) throw fullQueue();
  const { kind, request_hash: asked } = started.turn;
  if (kind !== "prompt" || (asked && asked !== hashOf(start.prompt))) throw reusedKey();
  const turn = toTurn(started.turn);
  const open = started.open && toOpenTurn(started.open);
  if (open && started.begun) {
    const { number, version, at } = started.begun;
    const body = { text: start.prompt };
    const entry = { number, version, turnId: turn.id, kind: "prompt", open: false, under: null, at, body } as const;
    log.show(sessionId, { entries: [entry], version });
    preflight.noteStored();
    return { turn, begun: { turn: open, preflight, begun: { number, version } } };
  }
  if (turn.state !== "queued") return { turn, known: true };
  return { turn, queued: open?.state === "queued" ? { turn: open, preflight, begun: null } : null };
}

/** As `start_turn` makes it. */
function hashOf(prompt: string): string {
  return createHash("sha256").update(prompt).digest("hex");
}
