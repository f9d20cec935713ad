import type { LogChange, LoggedEntry } from "../agent/index.ts";
import type { Actor } from "../auth/index.ts";
import type { EntryBody, EntryKind, LogEntry, LogPage } from "../protocol/log-entry.ts";
import type { Cursor, QueuedTurn, SessionEvent, SessionState } from "../protocol/session-events.ts";
import type { TurnOutcome } from "../protocol/turn-states.ts";
import type { ManyEvent } from "./follow-many.ts";
import type { ChangesPage } from "./log-pages.ts";

/** One writer per session: whoever holds the lease of its sandbox. */
export interface LogWriter {
  /** An entry that is complete at once. Durable when resolved. */
  add<Kind extends EntryKind>(kind: Kind, body: EntryBody<Kind>): Promise<LogEntry>;
  /**
   * Applies changes of one event in memory, shows deltas of entries that already exist at once, and
   * makes them durable in batches of at most 40 ms. `open` is durable before anything of it is shown.
   * Returns without waiting, except for back-pressure.
   */
  apply(changes: readonly LogChange[], eventNumber: number): Promise<void>;
  /** From here on every write carries the sandbox's lease: the turn's wake phases come before there is one. */
  hold(sandbox: { sandboxId: string; leaseEpoch: number; bootId: string }): void;
  /**
   * The turn runs from here on and its prompt, where it has one, is in the log, both at once. `conflict`
   * when it is not queued any more, or was edited since `revision` was read.
   */
  beginTurn(begin: { prompt: string | null; revision?: number }): Promise<void>;
  /** The prompt of a turn that joins this one; the entry is that turn's. Durable when resolved. */
  joinTurn(joined: { turnId: string; prompt: string }): Promise<void>;
  /**
   * One more try to hand the turn, which runs, to the agent has failed: one entry of it says why and when that is tried
   * again, however often. `conflict` when the turn does not run any more.
   */
  waitTurn(wait: TurnWait): Promise<void>;
  /** What it waited for is over. */
  goOn(): Promise<void>;
  /**
   * The turn's end, its usage and the `turn-end` entry at once; entries still open are closed before, and
   * what was still asked is withdrawn. Turns that joined it end with it.
   * False when the turn had ended already (ARCHITECTURE.md, invariant 14).
   */
  endTurn(end: TurnEnd): Promise<boolean>;
  /** Durable up to here. */
  flush(): Promise<void>;
  /** Flushes and lets go; further calls throw. */
  close(): Promise<void>;
}

export interface TurnWait {
  code: string;
  message: string;
  nextTryAt: Date;
  /** So far. */
  tries: number;
}

export interface TurnEnd {
  outcome: TurnOutcome;
  /** The agent could not be told, and may be at work on it still: marked on the session with the end. */
  untold?: boolean | undefined;
  /** Where the agent is, when it was not told because that is away. */
  machine?: string | undefined;
  failure?: { code: string; message: string; requestId?: string | undefined } | undefined;
  usage: EntryBody<"usage"> | null;
  /** Turns that this one took back, or brought back. */
  undone?: string[] | undefined;
  redone?: string[] | undefined;
}

export interface SessionLog {
  /** Marks what is written to a log by this process: the database tells all others of it. */
  readonly origin: string;
  /**
   * Tells this process's viewers of entries that were written under `origin`, though by no writer, and of the
   * session's state with them. Whoever does that makes sure that nobody else here writes to the session.
   */
  show(sessionId: string, written: { entries: LogEntry[]; version: number }): void;
  /**
   * `leaseEpoch`: every write carries it and throws `conflict` once it is superseded. With `turnId`,
   * the writer knows that turn's open entries by key, also after a takeover.
   */
  openWriter(input: {
    actor: Actor;
    sessionId: string;
    sandboxId: string | null;
    leaseEpoch: number;
    turnId: string | null;
    bootId: string | null;
    /** The turn has written nothing yet but its prompt, so that there is nothing to look for. */
    fresh?: boolean | undefined;
    /** Where its prompt stands already. */
    begun?: { number: number; version: number } | null;
  }): Promise<LogWriter>;
  /** The first page of what changed after `version`. Null when the session is unknown or another person's. */
  read(input: { actor: Actor; sessionId: string; after: number }): Promise<ChangesPage | null>;
  /**
   * The newest entries at the root, or directly `under` a tool call, before a number: the page to begin with, and those
   * before it by its `earlier`. Null when the session is unknown or another person's.
   */
  page(input: {
    actor: Actor;
    sessionId: string;
    under?: number | null;
    before?: number | null;
    limit: number;
  }): Promise<LogPage | null>;
  /** A turn's entries as a translation that takes it over needs them. */
  readTurn(input: { actor: Actor; sessionId: string; turnId: string }): Promise<LoggedEntry[]>;
  /**
   * Subscribes before it reads, so that nothing falls between. Throws `not-found` for a session that is
   * unknown or another person's. Catches up page by page. Ends on `signal`; a viewer too slow for its deltas gets whole
   * entries instead.
   */
  follow(input: { actor: Actor; sessionId: string; after: number; signal: AbortSignal }): AsyncIterable<SessionEvent>;
  /** Several sessions on one connection; at most `maxFollowedSessions`. */
  followMany(input: {
    actor: Actor;
    sessionIds: readonly string[];
    cursor: Cursor;
    signal: AbortSignal;
  }): AsyncIterable<ManyEvent>;
  /** Tells all viewers, also of other replicas, that the session's state (title, queue, turn) changed. */
  notifyViewers(sessionId: string): Promise<void>;
  state(actor: Actor, sessionId: string): Promise<SessionState | null>;
  /** All that waits; the state has the first of it. Null when the session is unknown or another person's. */
  queue(actor: Actor, sessionId: string): Promise<QueuedTurn[] | null>;
  /** Stops listening to other replicas; viewers end by their own signal. */
  close(): Promise<void>;
}
