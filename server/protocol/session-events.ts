import { z } from "zod";
import type { LogDelta, LogEntry } from "./log-entry.ts";
import type { SandboxState } from "./sandbox.ts";

/**
 * Server-sent events of `/api/v1/sessions/{id}/events` (one session) and `/api/v1/events?follow=a,b`
 * (all that a browser follows; each event's data then also has `sessionId`).
 *
 * `event: entries` carries an SSE id: the session's version, or for the shared connection a cursor
 * over all followed versions (`encodeCursor`). `delta`, `session`, `files` and `stopping` carry none. A
 * viewer that comes back with an id receives, whole, every entry changed since, in pages: all but the
 * last say `more`, and each may be gone on from. Text that a viewer has from deltas is not sent
 * again while it grows: `entries` may then be empty and only raise the version.
 */
export type SessionEvent =
  | { event: "entries"; data: { entries: LogEntry[]; version: number; more?: boolean } }
  | { event: "delta"; data: LogDelta }
  | { event: "session"; data: SessionState }
  /** Files of the session's directory changed: paths relative to it, or `all` when there were too many to name. */
  | { event: "files"; data: { paths: string[]; all: boolean } }
  /** The server is about to stop: connect again after a moment. */
  | { event: "stopping"; data: Record<string, never> };

export type FollowedEvent = SessionEvent & { data: { sessionId: string } };

export const queuedTurn = z.object({
  id: z.string(),
  /** Only a prompt can be edited or sent into a running turn. */
  kind: z.enum(["prompt", "compact", "undo", "redo"]),
  /** It joins the running turn as soon as that can take it. */
  sendNow: z.boolean(),
  /** Its first characters (`queueHead`). */
  prompt: z.string(),
  /** It has more words than `prompt`: the turn itself has them all. */
  isCut: z.boolean(),
  queuedAt: z.string(),
});
export type QueuedTurn = z.infer<typeof queuedTurn>;

/** What the agent knows of its session's conversation. */
export const memoryStatuses = ["intact", "restored", "replayed", "partial", "fresh"] as const;
export type MemoryStatus = (typeof memoryStatuses)[number];

/** What the page shows beside the transcript; sent whole at the start of a stream and on every change. */
export interface SessionState {
  id: string;
  title: string;
  /** The running turn, if any. */
  runningTurnId: string | null;
  stopRequested: boolean;
  /** The first that wait. */
  queue: QueuedTurn[];
  /** The ids of those behind them, in order: `GET …/queue` has them all. */
  queueRest: string[];
  sandbox: {
    state: SandboxState | "none";
    cause: string | null;
    /** Only another machine can run it, and that one is away. What is unknown of it is null. */
    away: { machine: string | null; since: string | null } | null;
  };
  memory: { status: MemoryStatus; cause: string | null; at: string | null };
  recovery: RecoveryPoint;
}

/** How safe the session's files are outside of its sandbox. */
export interface RecoveryPoint {
  /** When the newest verified snapshot was begun: what was written later is in the sandbox alone. */
  savedAt: string | null;
  saving: boolean;
  /** Why the newest attempt failed; null once a later one succeeded. */
  problem: string | null;
  /** A snapshot is being put back, or will be when the sandbox wakes. */
  restoring: boolean;
}

export type Cursor = Record<string, number>;

export function encodeCursor(cursor: Cursor): string {
  return Object.entries(cursor)
    .map(([sessionId, version]) => `${sessionId}:${version}`)
    .join(",");
}

/** Unknown or damaged parts are left out: such a session is then sent from its beginning. */
export function decodeCursor(text: string | null): Cursor {
  const cursor: Cursor = {};
  for (const part of (text ?? "").split(",")) {
    const [, sessionId, version] = /^([0-9a-f-]{36}):(\d{1,15})$/.exec(part) ?? [];
    if (sessionId && version) cursor[sessionId] = Number(version);
  }
  return cursor;
}
