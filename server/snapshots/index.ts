import type { Readable } from "node:stream";
import type { Actor } from "../auth/index.ts";
import type { OwnedSandbox, SandboxArchives } from "../lifecycle/index.ts";
import type { Snapshot, SnapshotFiles, SnapshotRestored, SnapshotTaken } from "../protocol/snapshots.ts";

/** What a wake did about the agent's memory before the agent started. */
export interface HistoryWake {
  /** `kept`: the disk has it, or there is nothing to restore. */
  outcome: "kept" | "restored" | "fresh";
  /** What is wrong with the memory that the agent starts with: people are told (ARCHITECTURE.md, invariant 7). */
  cause: string | null;
}

/** Durable copies of what lives in sandboxes. The sandbox's person owns them; everything streams. */
export interface Archives {
  /**
   * The gate closed, at a wake: restores history and HOME where the disk has none, or does not know the newest
   * archive and therefore is older; what is on it is then set aside. Else what is on it is younger than its
   * archive and stays. Then opens the gate. Throws when the store cannot answer, since an agent that starts
   * fresh then would bury its memory.
   */
  wakeHistory(input: Parameters<SandboxArchives["wakeHistory"]>[0]): Promise<HistoryWake>;
  /**
   * The session's directory, ready for the agent: as it stands on the disk, restored where it is missing or older
   * there or where somebody asked for a snapshot, else new. What a requested snapshot replaces is archived first;
   * where that fails it throws, and nothing was changed. `note` is for the person, where their files are not the
   * newest. An archive of it may be under way.
   */
  openWorkspace(sandbox: OwnedSandbox, input: Restoring): Promise<{ directory: string; note: string | null }>;
  /** A restore by hand is under way in this process: what changes in the workspace now would be lost with it. */
  isReplacing(sessionId: string): boolean;
  /** Resolves at once where none is, else when it is done, however that ended; `timeout` after its longest time. */
  whenReplaced(input: Restoring): Promise<void>;
  /**
   * Whatever changed since its newest archive, `gently` beside somebody's work. One that fails does not hinder the
   * others; what is not archived now is said. Throws only when `signal`, or the sandbox's own, ends it.
   */
  archiveSandbox: SandboxArchives["archiveSandbox"];
  /** Until when all that a sandbox holds is archived. */
  savedUntil: SandboxArchives["savedUntil"];
  /** Removes all archives of the agent's memory and HOME, of all epochs, with `files` those of the workspaces too. */
  forget: SandboxArchives["forget"];
  /** What is left in the sandbox of sessions that were removed meanwhile. */
  clearRemoved: SandboxArchives["clearRemoved"];
  /** Removes all snapshots of a session that is about to be removed. */
  removeSnapshots(actor: Actor, sessionId: string): Promise<void>;
  /** Cleans up what writers that are gone left behind, in the rows and in the store. */
  sweep(signal: AbortSignal): Promise<void>;
}

/** Of a turn that needs its files. */
export interface Restoring {
  sessionId: string;
  signal: AbortSignal;
  /** Called before files are restored, or waited for while they are: that may take long. */
  onRestoring(): Promise<void>;
}

export interface SnapshotFile {
  size: number;
  modifiedAt: Date;
  body: Readable;
}

/** The snapshots of a session's workspace, for its person. `not-found` for what is unknown or another person's. */
export interface Snapshots {
  /** Newest first. */
  list(actor: Actor, sessionId: string): Promise<Snapshot[]>;
  /** Now; `unavailable` while the sandbox is not awake here. An unchanged workspace gives the one that still holds. */
  take(actor: Actor, input: { sessionId: string; signal: AbortSignal }): Promise<SnapshotTaken>;
  /** A gzipped tar. The caller reads or destroys it. */
  read(
    actor: Actor,
    input: { sessionId: string; snapshotId: string; signal: AbortSignal },
  ): Promise<{ body: Readable; bytes: number; createdAt: Date }>;
  /** What is in it, at most 10,000 entries, and what is not. */
  listFiles(
    actor: Actor,
    input: { sessionId: string; snapshotId: string; signal: AbortSignal },
  ): Promise<SnapshotFiles>;
  /** One file of it, by its path as listed. The caller reads or destroys the body. */
  readFile(
    actor: Actor,
    input: { sessionId: string; snapshotId: string; path: string; signal: AbortSignal },
  ): Promise<SnapshotFile>;
  /**
   * Puts the workspace back to it: now, after a snapshot of what is there, or when the sandbox wakes next.
   * `conflict` while a turn runs or another snapshot is restored; a turn that begins meanwhile waits. `conflict` or `unavailable`, and nothing changed, where there is no snapshot
   * of what would be replaced.
   */
  restore(
    actor: Actor,
    input: { sessionId: string; snapshotId: string; signal: AbortSignal },
  ): Promise<SnapshotRestored>;
  /** No restore at the next wake; `conflict` while the sandbox is awake, since it may have begun. Idempotent. */
  withdrawRestore(actor: Actor, input: { sessionId: string; snapshotId: string }): Promise<void>;
}
