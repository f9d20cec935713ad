import { eq } from "drizzle-orm";
import { removedWorkspaces } from "../../db/schema/index.ts";
import { isAppError } from "../errors.ts";
import type { OwnedSandbox } from "../lifecycle/index.ts";
import { type ArchiveContext, asHolder } from "./archive-context.ts";
import { readSnapshots } from "./archive-rows.ts";
import { removeArchive } from "./prune-archives.ts";

const maxRows = 500;

/**
 * What is left in a sandbox of sessions that were removed while it slept, ran elsewhere, or was at work on them: files,
 * and snapshots that were just being made. Idempotent; what fails is tried again with the next call.
 */
export async function clearRemoved(context: ArchiveContext, sandbox: OwnedSandbox, signal: AbortSignal): Promise<void> {
  const { actor, sandboxId, sidecar } = sandbox;
  const rows = await context.database.transaction(actor, (tx) =>
    tx.select().from(removedWorkspaces).where(eq(removedWorkspaces.sandboxId, sandboxId)).limit(maxRows),
  );
  const write = asHolder(context, sandbox);
  for (const { sessionId } of rows) {
    signal.throwIfAborted();
    try {
      await sidecar.removeWorkspace(sessionId, signal);
      for (const row of await readSnapshots(context.database, actor, sessionId)) {
        await removeArchive(context, row, { write, signal });
      }
      await write((tx) => tx.delete(removedWorkspaces).where(eq(removedWorkspaces.sessionId, sessionId)));
    } catch (error) {
      signal.throwIfAborted();
      if (!isAppError(error)) throw error;
      context.logger.warn({ err: error, sessionId }, "What is left of a removed session was not removed");
    }
  }
}
