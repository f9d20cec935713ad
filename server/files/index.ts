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
 * A session's own directory, read through its sidecar. Paths are relative to it. Nothing here wakes a
 * sandbox: `unavailable` while it sleeps, `not-found` for a session that is unknown or another person's.
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
  close(): void;
}
