import { AppError, isAppError } from "../errors.ts";
import type { OwnedSandbox } from "../lifecycle/index.ts";
import type { WorkspaceState } from "../protocol/archive/archive-answers.ts";
import { type ArchiveContext, asHolder } from "./archive-context.ts";
import { type ArchiveRow, readGenerations } from "./archive-rows.ts";
import { findMissed } from "./missed-archives.ts";
import { clearRestoreRequest, type Replacing } from "./replace-workspace.ts";
import { createSidecarArchives } from "./sidecar-archives.ts";
import { DamagedArchive, openStoredArchive } from "./stored-archive.ts";

interface Opening {
  sessionId: string;
  signal: AbortSignal;
  /** Called before files are restored, which may take long. */
  onRestoring(): Promise<void>;
  replace(replacing: Replacing): Promise<unknown>;
}

export async function openWorkspace(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  opening: Opening,
): Promise<{ directory: string; note: string | null }> {
  const { sessionId, signal, onRestoring } = opening;
  const archives = createSidecarArchives(sandbox.sidecar);
  const { newestFirst } = await readGenerations(context.database, sandbox, { kind: "workspace", sessionId });
  const verified = newestFirst.filter(({ state }) => state === "verified");
  const requested = verified.find(({ restoreRequestedAt }) => restoreRequestedAt !== null);
  const state = await archives.workspaceState(sessionId, signal);
  const prepare = () => sandbox.sidecar.prepareWorkspace(sessionId, signal);
  if (requested) {
    await onRestoring();
    await replaceAsRequested(context, sandbox, { ...opening, row: requested });
    return { ...(await prepare()), note: null };
  }
  const isThere = !isMissing(state);
  const missed = isThere ? missedBy(state, verified) : verified;
  if (missed.length > 0) await onRestoring();
  const row = await restoreNewest(context, sandbox, { ...opening, missed, keep: isThere });
  // A disk that survived: what stands on it is this life's workspace from here on.
  if (!row && isThere && state.life === "earlier") await archives.adoptWorkspace({ sessionId, signal });
  const prepared = await prepare();
  const knows = missed[0]?.id;
  // Passed over for good: should the store give them back one day, people have gone on meanwhile.
  if (!row && knows) await archives.adoptWorkspace({ sessionId, knows, signal });
  return { ...prepared, note: missed.length > 0 ? noteOn({ row, newest: missed[0], isThere }) : null };
}

async function replaceAsRequested(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  { replace, ...request }: Opening & { row: ArchiveRow },
): Promise<void> {
  try {
    await replace(request);
  } catch (error) {
    request.signal.throwIfAborted();
    // What only has to wait is tried again with the next turn; anything else would fail each of them.
    if (!isAppError(error) || (error.kind !== "unavailable" && error.kind !== "timeout")) {
      await clearRestoreRequest(context, asHolder(context, sandbox), request.sessionId);
    }
    throw error;
  }
}

/**
 * The newest that is whole; null when none is. Files that are nowhere else and whose snapshots are all missing are
 * more likely in another store than gone: then it throws, and whoever runs the store can put that right.
 */
async function restoreNewest(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  {
    missed,
    keep,
    sessionId,
    signal,
  }: Omit<Opening, "replace" | "onRestoring"> & { missed: readonly ArchiveRow[]; keep: boolean },
): Promise<ArchiveRow | null> {
  const archives = createSidecarArchives(sandbox.sidecar);
  let missing = 0;
  for (const row of missed) {
    try {
      const body = await openStoredArchive(context, row, signal);
      await archives.restoreWorkspace({ sessionId, body, knows: missed[0]?.id ?? null, keep, signal });
      return row;
    } catch (error) {
      signal.throwIfAborted();
      const isUnusable = error instanceof DamagedArchive || (isAppError(error) && error.kind === "invalid-input");
      if (!isUnusable) throw error;
      if (error instanceof DamagedArchive && error.what === "missing") missing += 1;
      context.logger.error({ err: error, sessionId, archiveId: row.id }, "A snapshot cannot be restored");
    }
  }
  if (missing > 0 && missing === missed.length && !keep) {
    const message = "The snapshots of this session's files are missing from the file store.";
    throw new AppError("unavailable", message, { code: "snapshots-missing" });
  }
  return null;
}

/** What the person has to know about how their files came back; null when all is as it should be. */
function noteOn(input: { row: ArchiveRow | null; newest: ArchiveRow | undefined; isThere: boolean }): string | null {
  const { row, newest, isThere } = input;
  const older = "The sandbox's disk was older than the newest snapshot of this session's files.";
  const damaged = "The newest snapshot of this session's files is damaged in the file store.";
  if (!row && isThere)
    return `${older} That snapshot is damaged in the file store, so the files are those on the disk.`;
  if (!row) return "This session's files are lost: the file store has no intact snapshot of them.";
  const from = `The files are from ${row.createdAt.toUTCString()}.`;
  const reasons = [...(isThere ? [older] : []), ...(row === newest ? [] : [damaged])];
  const aside = isThere ? " The files that were on the disk were set aside there." : "";
  return reasons.length > 0 ? `${reasons.join(" ")} ${from}${aside}` : null;
}

/** Not there, or a stand-in that nobody made here. */
function isMissing({ exists, life, entries }: WorkspaceState): boolean {
  return !exists || (life === "none" && entries === 0);
}

/** Only of a workspace that an earlier life left: this life's is the one that is archived from. */
function missedBy({ life, known }: WorkspaceState, verified: readonly ArchiveRow[]): ArchiveRow[] {
  return life === "earlier" ? findMissed(known, verified) : [];
}
