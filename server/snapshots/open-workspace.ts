import type { WorkspaceState } from "../protocol/archive/archive-answers.ts";
import type { ArchiveContext, OwnedSandbox } from "./archive-context.ts";
import { type ArchiveRow, readGenerations, setRestoreRequest } from "./archive-rows.ts";
import { createSidecarArchives } from "./sidecar-archives.ts";
import { openStoredArchive } from "./stored-archive.ts";

interface Opening {
  sessionId: string;
  signal: AbortSignal;
}

export async function openWorkspace(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  { sessionId, signal }: Opening,
): Promise<{ directory: string }> {
  const archives = createSidecarArchives(sandbox.sidecar);
  const { newestFirst } = await readGenerations(context.database, sandbox, { kind: "workspace", sessionId });
  const verified = newestFirst.filter(({ state }) => state === "verified");
  const requested = verified.find(({ restoreRequestedAt }) => restoreRequestedAt !== null);
  const state = await archives.workspaceState(sessionId, signal);
  const wanted = requested ?? (isMissing(state) ? verified[0] : undefined);
  if (wanted) await restoreWorkspace(context, sandbox, { row: wanted, sessionId, signal });
  // A disk that survived: what stands on it is this life's workspace from here on.
  else if (state.life === "earlier" && state.exists) await archives.adoptWorkspace({ sessionId, signal });
  return sandbox.sidecar.prepareWorkspace(sessionId, signal);
}

export async function restoreWorkspace(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  { row, sessionId, signal }: Opening & { row: ArchiveRow },
): Promise<void> {
  const body = await openStoredArchive(context, row, signal);
  await createSidecarArchives(sandbox.sidecar).restoreWorkspace({ sessionId, body, signal });
  await setRestoreRequest(context.database, sandbox.actor, { sessionId, archiveId: null });
  context.onSnapshotsChanged?.(sessionId);
}

/** Not there, or a stand-in that nobody made here. */
function isMissing({ exists, life, entries }: WorkspaceState): boolean {
  return !exists || (life === "none" && entries === 0);
}
