import { AppError, isAppError } from "../errors.ts";
import type { OwnedSandbox } from "../lifecycle/index.ts";
import { type ArchiveContext, asHolder, type Write } from "./archive-context.ts";
import { type ArchiveRow, readGenerations, setRestoreRequest } from "./archive-rows.ts";
import { createSidecarArchives } from "./sidecar-archives.ts";
import { openStoredArchive } from "./stored-archive.ts";
import { takeArchive } from "./take-archive.ts";

export interface Replacing {
  row: ArchiveRow;
  sessionId: string;
  signal: AbortSignal;
}

/**
 * Replaces whatever is there by a snapshot. It is archived first; where that fails nothing is changed. The caller sees
 * to it that nobody works in it meanwhile.
 */
export async function replaceWorkspace(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  { row, sessionId, signal }: Replacing,
): Promise<{ setAside: boolean }> {
  const archives = createSidecarArchives(sandbox.sidecar);
  const { exists, life } = await archives.workspaceState(sessionId, signal);
  if (exists && life === "earlier") await archives.adoptWorkspace({ sessionId, signal });
  // What nobody made here is never archived (ARCHITECTURE.md, invariant 21), so it is set aside.
  const keep = exists && life === "none";
  if (exists && !keep) {
    const subject = { kind: "workspace", sessionId } as const;
    await takeArchive(context, sandbox, { subject, signal }).catch((error: unknown) => refuse(error, signal));
  }
  const { newestFirst } = await readGenerations(context.database, sandbox, { kind: "workspace", sessionId });
  const knows = newestFirst.find(({ state }) => state === "verified")?.id ?? null;
  const body = await openStoredArchive(context, row, signal);
  const { setAside } = await archives.restoreWorkspace({ sessionId, body, knows, keep, signal });
  await clearRestoreRequest(context, asHolder(context, sandbox), sessionId);
  return { setAside };
}

/** No snapshot is to be restored any more. */
export async function clearRestoreRequest(context: ArchiveContext, write: Write, sessionId: string): Promise<void> {
  await setRestoreRequest(write, { sessionId, archiveId: null });
  context.onSessionChanged?.(sessionId);
}

function refuse(error: unknown, signal: AbortSignal): never {
  signal.throwIfAborted();
  const isTooLarge = isAppError(error) && error.kind === "too-large";
  const why = isAppError(error) ? ` ${error.message}` : "";
  const message = `Nothing was restored, because the current files could not be archived first.${why}`;
  throw new AppError(isTooLarge ? "conflict" : "unavailable", message, { cause: error });
}
