import type { Database } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import { sessionId as idSchema } from "../protocol/ids.ts";
import { maxPromptBytes, tooLongPrompt } from "../protocol/limits.ts";
import type { Turn, TurnKey, Turns } from "./index.ts";
import { changeQueued, deleteQueued, findTurn, markSendNow, type QueueOutcome } from "./queue-rows.ts";
import { insertOtherTurn } from "./undo-rows.ts";

type QueueChanges = Pick<Turns, "find" | "change" | "removeQueued" | "sendNow" | "compact" | "undo" | "redo">;

/** What people do with turns that wait. The row decides whether it still does: whoever is late changes nothing. */
export function changeQueue(options: {
  database: Database;
  /** The queue looks different now. */
  onChanged(sessionId: string): Promise<void>;
  /** A turn waits that nobody may know of yet. */
  onQueued(actor: Actor, sessionId: string): void;
  onSendNow(sessionId: string): Promise<void>;
}): QueueChanges {
  const { database, onChanged, onQueued, onSendNow } = options;

  async function change(key: TurnKey, work: () => Promise<QueueOutcome>): Promise<Turn> {
    const outcome = isTurnKey(key) ? await work() : "unknown";
    if (outcome === "unknown") throw new AppError("not-found", "There is no such message.");
    if (outcome === "begun")
      throw new AppError(
        "conflict",
        "The queue has changed: this message, or the one it should come before, was already sent. Nothing was changed.",
      );
    await onChanged(key.sessionId);
    return outcome;
  }

  const other = (kind: "compact" | "undo" | "redo"): Turns["undo"] => {
    return async (actor, { sessionId, idempotencyKey }) => {
      const isKnown = idSchema.safeParse(sessionId).success;
      const turn = isKnown ? await insertOtherTurn(database, actor, { sessionId, kind, idempotencyKey }) : "unknown";
      if (turn === "unknown") throw new AppError("not-found", "There is no such session.");
      if (turn === "reused") throw reusedKey();
      if (turn === "busy")
        throw new AppError(
          "conflict",
          "The agent is working or messages are queued. Stop it first, or wait until it is done.",
        );
      if (turn === "nothing") throw new AppError("conflict", nothingTo[kind]);
      onQueued(actor, sessionId);
      await onChanged(sessionId);
      return turn;
    };
  };

  return {
    find: async (actor, key) => (isTurnKey(key) ? findTurn(database, actor, key) : null),
    async change(actor, { prompt, before, ...key }) {
      const text = prompt === undefined ? undefined : requirePrompt(prompt);
      return change(key, () => changeQueued(database, actor, { ...key, prompt: text, before }));
    },
    async removeQueued(actor, key) {
      await change(key, () => deleteQueued(database, actor, key));
    },
    async sendNow(actor, key) {
      const turn = await change(key, () => markSendNow(database, actor, key));
      onQueued(actor, key.sessionId);
      await onSendNow(key.sessionId);
      return turn;
    },
    compact: other("compact"),
    undo: other("undo"),
    redo: other("redo"),
  };
}

const nothingTo = {
  compact: "There is nothing to summarise yet.",
  undo: "There is no turn to undo.",
  redo: "There is nothing to redo.",
};

export function reusedKey(): AppError {
  return new AppError(
    "key-reused",
    "This idempotency key was already used for another request. Nothing was done. Send this one with a new key.",
  );
}

/** The words as they are stored; throws `invalid-input` or `too-large`. */
export function requirePrompt(prompt: string): string {
  if (prompt.trim() === "") throw new AppError("invalid-input", "The message is empty.");
  const bytes = Buffer.byteLength(prompt);
  if (bytes > maxPromptBytes) throw new AppError("too-large", tooLongPrompt(`${Math.ceil(bytes / 1024)} KB`));
  return prompt.replaceAll("\0", "\uFFFD").toWellFormed();
}

function isTurnKey({ sessionId, turnId }: TurnKey): boolean {
  return idSchema.safeParse(sessionId).success && idSchema.safeParse(turnId).success;
}
