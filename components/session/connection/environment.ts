import type { Cursor, FollowedEvent } from "@/server/protocol/session-events.ts";

/** What tabs of one browser say to each other. */
export type TabMessage =
  /** What a tab follows and how far it has come. `again`: it misses something, so that the leader must open anew. */
  | { type: "follow"; tab: string; sessions: Cursor; again: boolean }
  /** A new leader asks everybody for their `follow`. */
  | { type: "who-follows" }
  | { type: "leave"; tab: string }
  /** Everything up to the next `opened` comes from a stream that began after these versions. */
  | { type: "opened"; cursor: Cursor }
  | { type: "event"; event: FollowedEvent }
  | { type: "status"; status: ConnectionStatus };

export type ConnectionStatus =
  | { state: "connecting" }
  | { state: "live" }
  /** `since`: milliseconds of the epoch. */
  | { state: "lost"; since: number }
  | { state: "signed-out" }
  /** This tab's session is left out: other tabs follow as many as one connection takes. */
  | { state: "crowded" };

/** How a stream ended: the server says that it stops, the person is signed out, or anything else. */
export type StreamEnd = "stopping" | "signed-out" | "lost";

/** What the event connection needs of a browser; a test brings its own. */
export interface Environment {
  tab: string;
  /** To all other tabs. Without other tabs to reach, a no-op. */
  post(message: TabMessage): void;
  listen(hear: (message: TabMessage) => void): void;
  /** Runs soon, at most once per picture that the screen shows. */
  schedule(work: () => void): void;
  /** Resolves when this tab leads; it does so until `signal` is aborted. */
  lead(signal: AbortSignal): Promise<void>;
  /** Tabs that live, this one included; null when nobody can tell. */
  liveTabs(): Promise<Set<string> | null>;
  /** Resolves with the reason when the stream ended; never throws. */
  stream(input: {
    cursor: Cursor;
    onOpen: () => void;
    onEvent: (event: FollowedEvent) => void;
    signal: AbortSignal;
  }): Promise<StreamEnd>;
  /** Resolves early on `signal`, or when the network comes back. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
  now(): number;
  random(): number;
}
