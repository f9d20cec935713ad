import type { Actor, Viewer } from "../auth/index.ts";

export type { LogHub } from "./log-hub.ts";
export type { LogWriter, SessionLog, TurnEnd } from "./session-log.ts";

export interface SessionSummary {
  id: string;
  title: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface Sessions {
  list(viewer: Viewer): Promise<SessionSummary[]>;
  create(viewer: Viewer): Promise<SessionSummary>;
  /** Null when unknown or another person's. */
  find(viewer: Viewer, sessionId: string): Promise<SessionSummary | null>;
  /** From then on opencode's title no longer replaces it. Null when unknown or another person's. */
  rename(viewer: Viewer, sessionId: string, title: string): Promise<SessionSummary | null>;
  /**
   * Stops its turn, removes what lives of it in the sandbox, then its rows. Succeeds even if the live
   * clean-up fails (ARCHITECTURE.md, invariant 11). False when unknown or another person's.
   */
  remove(viewer: Viewer, sessionId: string): Promise<boolean>;
}

/** What of a session may live in a sandbox. */
export interface LiveSession {
  sessionId: string;
  sandboxId: string | null;
  agentSessionId: string | null;
}

/** Ends a session's turn and removes it from its sandbox as far as that is awake. Bounded in time. */
export type ReleaseSession = (actor: Actor, session: LiveSession) => Promise<void>;
