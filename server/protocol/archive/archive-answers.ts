import { z } from "zod";

/** Top folders of the archives; what else there is differs by kind (ARCHITECTURE.md, invariants 3, 4, 18). */
export const archiveRoots = { workspace: "workspace", history: ".opencode-data", home: "home" } as const;
/** The last entry of a workspace snapshot or HOME archive, beside the root. */
export const manifestName = "manifest.json";

/** Why something is not in an archive although it is in the directory. */
export const leftOutReasons = [
  "regenerable",
  "managed-link",
  "link-leads-out",
  "special-file",
  "unreadable",
  "vanished",
] as const;
export type LeftOutReason = (typeof leftOutReasons)[number];

/** A path as text; `bytes` (base64) where it is not UTF-8, which say exactly what it is. */
const notedPath = z.object({ path: z.string(), bytes: z.string().optional() });

export const archiveManifest = z.object({
  version: z.literal(1),
  createdAt: z.number(),
  entries: z.number(),
  bytes: z.number(),
  /** At most 1,000 each; the counts are whole. */
  leftOut: z.array(notedPath.extend({ reason: z.enum(leftOutReasons) })),
  leftOutCount: z.number(),
  /** Files written to while they were read: what is archived has the size that was declared. */
  changed: z.array(notedPath.extend({ how: z.enum(["changed", "grew", "shrank"]) })),
  changedCount: z.number(),
});
export type ArchiveManifest = z.infer<typeof archiveManifest>;

/** The note in the trailer of every archive that is sent. */
export const archiveNote = z.object({
  /** Of what was archived; `?unless=` with it answers 304 while nothing has changed. */
  fingerprint: z.string(),
  entries: z.number(),
  /** Unpacked. */
  bytes: z.number(),
  leftOut: z.number(),
  changed: z.number(),
  /** The disk keeps the id that this archive was asked for under: one that does not know it is older. */
  remembered: z.boolean().default(false),
});
export type ArchiveNote = z.infer<typeof archiveNote>;

/** Ids of archives that the disk is not older than: made of it, restored to it, or passed over. Newest first. */
const knownArchives = z.array(z.string()).default([]);

/**
 * `POST /opencode-history/prepare`, before the gate opens: what belongs to an older epoch is removed, as a reset has it,
 * and with `check` a database that is damaged is set aside.
 */
export const historyPreparation = z.object({
  historyEpoch: z.number().int().nonnegative(),
  filesEpoch: z.number().int().nonnegative(),
  check: z.boolean(),
});
export type HistoryPreparation = z.infer<typeof historyPreparation>;

/** The answer: what the disk has, of which a restore would replace something. */
export const historyState = z.object({
  /** There is a database of the agent. */
  hasHistory: z.boolean(),
  /** There is any file in HOME. */
  hasHome: z.boolean(),
  known: z.object({ history: knownArchives, home: knownArchives }).default({ history: [], home: [] }),
  /** What was wrong with the database that was set aside. */
  damage: z.string().nullable(),
});
export type HistoryState = z.infer<typeof historyState>;

/** `POST /opencode-history/restore`. */
export const historyRestored = z.object({
  /** `kept`: it was restored or skipped before in this boot, and nothing was changed (ARCHITECTURE.md, invariant 6). */
  outcome: z.enum(["restored", "fresh", "kept"]),
  /** Why it is `fresh` (ARCHITECTURE.md, invariant 7) or `kept`. */
  cause: z.string().nullable(),
  fingerprint: z.string().nullable(),
});
export type HistoryRestored = z.infer<typeof historyRestored>;

/** `POST /home/restore`. */
export const homeRestored = z.object({
  outcome: z.enum(["restored", "kept"]),
  cause: z.string().nullable(),
  fingerprint: z.string().nullable(),
});
export type HomeRestored = z.infer<typeof homeRestored>;

/** `POST /snapshot/restore/{session}`. */
export const workspaceRestored = z.object({
  fingerprint: z.string(),
  entries: z.number(),
  bytes: z.number(),
  /** What it replaced was asked to be kept, or held what no archive has since it may not be read. */
  setAside: z.boolean().default(false),
});
export type WorkspaceRestored = z.infer<typeof workspaceRestored>;

/** `GET /snapshot/state/{session}`. */
export const workspaceState = z.object({
  exists: z.boolean(),
  /**
   * When it was created or restored: only of `this` life is it ever snapshotted (ARCHITECTURE.md, invariant 21). One of an
   * `earlier` life, on a disk that survived, can be adopted.
   */
  life: z.enum(["this", "earlier", "none"]),
  /** Null unless it exists. */
  fingerprint: z.string().nullable(),
  entries: z.number(),
  bytes: z.number(),
  known: knownArchives,
});
export type WorkspaceState = z.infer<typeof workspaceState>;
