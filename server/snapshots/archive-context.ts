import type { Database } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import type { FileStore } from "../file-store/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { RunningSandbox } from "../lifecycle/index.ts";

export interface ArchiveContext {
  database: Database;
  fileStore: FileStore;
  logger: Pick<Logger, "info" | "warn" | "error">;
  /** Hears of each change of a session's snapshots or memory, so that its viewers can be told. Returns at once. */
  onSessionChanged?(sessionId: string): void;
}

/** A sandbox that runs under our lease, and whose it is. */
export interface OwnedSandbox extends RunningSandbox {
  actor: Actor;
}

/** One thing that is archived in generations: the history or HOME of a sandbox, or one session's workspace. */
export type Subject = { kind: "history" | "home"; sessionId: null } | { kind: "workspace"; sessionId: string };

/** For what has to be cleaned up after the work itself was given up. */
export const cleanUpMilliseconds = 30_000;
