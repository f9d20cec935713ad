import type { Actor } from "../auth/index.ts";
import type { EntryBody } from "../protocol/log-entry.ts";
import type { TurnState } from "../protocol/turn-states.ts";
import type { QueueChange } from "./queue-rows.ts";

export interface Turn {
  id: string;
  sessionId: string;
  /** `compact`: the conversation is summarised; `undo`, `redo`: turns are taken back, or brought back. */
  kind: "prompt" | "compact" | "undo" | "redo";
  /** `joined`: sent into a running turn, its host, with which it ends (ARCHITECTURE.md, invariant 13). */
  state: TurnState;
  prompt: string;
  /** While it waits: it joins the running turn as soon as that can take it. */
  sendNow: boolean;
  hostTurnId: string | null;
  failure: { code: string; message: string } | null;
  queuedAt: string;
  startedAt: string | null;
  endedAt: string | null;
  undoneAt: string | null;
  /** Of its steps; of a turn that joined another one it counts there. */
  usage: Omit<EntryBody<"usage">, "milliseconds">;
}

export interface TurnKey {
  sessionId: string;
  turnId: string;
}

export interface TurnPage {
  /** In the order of the queue that they came through. */
  turns: Turn[];
  /** What to ask for those `before` these by; null with the oldest. */
  earlier: string | null;
}

/** What the agent waits for. */
export interface Ask {
  id: string;
  sessionId: string;
  kind: "permission" | "question";
  state: "pending" | "answered" | "withdrawn";
  /** opencode's request, as it came. */
  request: Record<string, unknown>;
  answer: unknown;
}

export const permissionReplies = ["once", "always", "reject"] as const;
export type PermissionReply = (typeof permissionReplies)[number];

/** Of a permission its reply; of a question one list of labels for each of its questions. */
export type AskAnswer = { reply: PermissionReply } | { answers: string[][] };

export interface Turns {
  /**
   * Stores the turn and returns at once: it is `running` where it could begin, else `queued`. The same key
   * with the same words returns the same turn, edited since or not; `key-reused` with others. Throws `invalid-input`
   * for an empty prompt, `too-large` over 256 KB, `limit-exceeded` when the queue is full, `not-found` for an unknown
   * or another person's session.
   */
  start(actor: Actor, input: { sessionId: string; prompt: string; idempotencyKey: string }): Promise<Turn>;
  /** Idempotent; through any process. False when nothing ran. */
  stop(actor: Actor, sessionId: string): Promise<boolean>;
  /** The running turn waits to be handed to the agent: that is tried at once. False when it does not wait. */
  tryNow(actor: Actor, sessionId: string): Promise<boolean>;
  /** Of those that were queued last. */
  list(actor: Actor, sessionId: string, page?: { before?: string | null; limit?: number }): Promise<TurnPage>;
  /** Null when unknown or another person's. */
  find(actor: Actor, key: TurnKey): Promise<Turn | null>;
  /** Summarises the conversation, when its turn comes. `conflict` when nothing was said yet. */
  compact(actor: Actor, input: { sessionId: string; idempotencyKey: string }): Promise<Turn>;
  /**
   * Takes the last turn back, its files included; the agent forgets it. `conflict` while something runs or
   * waits, and when there is nothing to take back.
   */
  undo(actor: Actor, input: { sessionId: string; idempotencyKey: string }): Promise<Turn>;
  /** Brings back what was taken back since the last prompt. `conflict` as with `undo`. */
  redo(actor: Actor, input: { sessionId: string; idempotencyKey: string }): Promise<Turn>;
  /** All that follow are for a turn that has not begun: `conflict` when it has, and nothing is changed. */
  /** Other words, a place before another one that waits (null: at the end), or both in one write. */
  change(actor: Actor, input: TurnKey & QueueChange): Promise<Turn>;
  removeQueued(actor: Actor, key: TurnKey): Promise<void>;
  /** Joins the running turn at its next step; where none runs, or it cannot take it, it is the next to begin. */
  sendNow(actor: Actor, key: TurnKey): Promise<Turn>;
  listAsks(actor: Actor, sessionId: string): Promise<Ask[]>;
  /** Once: `conflict` when it was answered or withdrawn. `invalid-input` when it is not an answer to that kind of ask. */
  answer(actor: Actor, input: { askId: string; answer: AskAnswer }): Promise<void>;
  /**
   * While the machine of the session's sandbox is away: the session goes on here, from its archives, and what waits
   * begins. A turn that ran there ends as failed: it is not begun anew. `conflict` while that machine is there.
   */
  continueHere(actor: Actor, sessionId: string): Promise<void>;
  /** Stops what runs of a session that is about to be removed, and waits for its end, though not for ever. */
  release(actor: Actor, sessionId: string): Promise<void>;
  /** Boot: re-attaches to turns that still run in opencode and ends the rest. */
  resume(signal: AbortSignal): Promise<void>;
  /** Looks for turns that nobody runs: the queue of a process that is gone, and its running turns. */
  sweep(): Promise<void>;
  /** The server's end: running turns are left to the next process; nothing is marked as failed. */
  close(): Promise<void>;
}
