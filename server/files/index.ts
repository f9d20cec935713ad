import type { Readable } from "node:stream";
import type { Actor } from "../auth/index.ts";
import type { FileEntry } from "../protocol/sidecar.ts";

export interface FileContent {
  /** 200, or 206 for a part. */
  status: number;
  size: number | null;
  contentRange: string | null;
  modifiedAt: string | null;
  body: Readable;
}

/**
 * A session's own directory, through its sidecar. Paths are relative to it and written as `protocol/archive/raw-name.ts`
 * says. Nothing here wakes a sandbox: `unavailable` while it sleeps, `not-found` for a session that is unknown or
 * another person's, and for files that are not there. Changes are a `conflict` while a snapshot is restored.
 */
export interface Files {
  list(
    actor: Actor,
    input: { sessionId: string; path: string; signal: AbortSignal },
  ): Promise<{ entries: FileEntry[]; truncated: boolean }>;
  /** `range` as in the HTTP header. The caller reads or destroys the body. */
  read(
    actor: Actor,
    input: { sessionId: string; path: string; range: string | null; signal: AbortSignal },
  ): Promise<FileContent>;
  /** To another name, another folder, or both; folders on the way are made. `conflict` where something is already. */
  move(actor: Actor, input: { sessionId: string; from: string; to: string; signal: AbortSignal }): Promise<void>;
  /** A folder with all that is in it. */
  remove(actor: Actor, input: { sessionId: string; path: string; signal: AbortSignal }): Promise<void>;
  close(): void;
}
