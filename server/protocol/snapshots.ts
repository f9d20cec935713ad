import { z } from "zod";
import { leftOutReasons } from "./archive/archive-answers.ts";

export const archiveKinds = ["workspace", "history", "home"] as const;
export const archiveStates = ["writing", "verified", "failed"] as const;

/** One snapshot of a session's workspace, as its person sees it. */
export const snapshot = z.object({
  id: z.string(),
  state: z.enum(archiveStates),
  createdAt: z.string(),
  /** Packed; null until it is verified. */
  bytes: z.number().nullable(),
  /** Null until it is verified. */
  contents: z.object({ entries: z.number(), bytes: z.number(), leftOut: z.number(), changed: z.number() }).nullable(),
  /** Why it failed. */
  cause: z.string().nullable(),
  /** It will be in the workspace when that is opened next. */
  restoreRequested: z.boolean(),
});
export type Snapshot = z.infer<typeof snapshot>;

/** `GET /api/v1/sessions/{id}/snapshots`: newest first. */
export const snapshotList = z.object({ snapshots: z.array(snapshot) });

/** `POST /api/v1/sessions/{id}/snapshots`. */
export const snapshotTaken = z.object({
  /** `empty`: there is nothing to keep; `unchanged`: the newest one still holds. */
  outcome: z.enum(["verified", "empty", "unchanged"]),
  snapshotId: z.string().nullable(),
});
export type SnapshotTaken = z.infer<typeof snapshotTaken>;

/** `POST /api/v1/sessions/{id}/snapshots/{id}/restore`. */
export const snapshotRestored = z.object({
  outcome: z.enum(["restored", "at-next-wake"]),
  /** What was there could not be archived whole, and is kept in the sandbox as well. */
  setAside: z.boolean(),
});
export type SnapshotRestored = z.infer<typeof snapshotRestored>;

export const snapshotEntry = z.object({
  /** From the session's directory. */
  path: z.string(),
  kind: z.enum(["file", "directory", "link"]),
  size: z.number(),
  modifiedAt: z.string(),
});
export type SnapshotEntry = z.infer<typeof snapshotEntry>;

/** `GET /api/v1/sessions/{id}/snapshots/{id}/files`; what a repository keeps for itself (`.git`) is not named. */
export const snapshotFiles = z.object({
  entries: z.array(snapshotEntry),
  /** There are more entries than are named. */
  truncated: z.boolean(),
  /** What was in the workspace and is not in the snapshot, and why; at most 1,000. The count is whole. */
  leftOut: z.array(z.object({ path: z.string(), reason: z.enum(leftOutReasons) })),
  leftOutCount: z.number(),
});
export type SnapshotFiles = z.infer<typeof snapshotFiles>;
