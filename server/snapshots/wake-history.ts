import { and, eq, isNotNull, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { sessions } from "../../db/schema/index.ts";
import { isAppError } from "../errors.ts";
import type { ArchiveContext } from "./archive-context.ts";
import { readGenerations } from "./archive-rows.ts";
import type { Archives, HistoryWake } from "./index.ts";
import { createSidecarArchives, type RestoreArchive } from "./sidecar-archives.ts";
import { DamagedArchive, openStoredArchive } from "./stored-archive.ts";

type Wake = Parameters<Archives["wakeHistory"]>[0];

export async function wakeHistory(context: ArchiveContext, wake: Wake): Promise<HistoryWake> {
  const { sidecar, signal } = wake;
  const archives = createSidecarArchives(sidecar);
  const histories = await listVerified(context, wake, "history");
  const homes = await listVerified(context, wake, "home");
  const onDisk =
    histories.length + homes.length > 0 ? await archives.historyState(signal) : { hasHistory: true, hasHome: true };
  // The gate opens with the history, so that HOME comes before.
  if (!onDisk.hasHome) await restoreNewest(context, wake, { rows: homes, restore: archives.restoreHome });
  if (onDisk.hasHistory || histories.length === 0) {
    await sidecar.markRestored(signal);
    return { outcome: "kept", cause: null };
  }
  const restored = await restoreNewest(context, wake, { rows: histories, restore: archives.restoreHistory });
  if (restored?.outcome === "kept") return { outcome: "kept", cause: null };
  const cause =
    restored?.outcome === "restored"
      ? null
      : `The agent's memory could not be brought back and it started fresh: ${restored?.cause ?? "no archive of it is whole"}.`;
  if (!restored) await sidecar.markRestored(signal);
  if (cause) context.logger.error({ sandboxId: wake.sandboxId, cause: restored?.cause }, "A history was damaged");
  await noteMemory(context.database, wake, cause);
  return { outcome: cause ? "fresh" : "restored", cause };
}

async function listVerified({ database }: ArchiveContext, wake: Wake, kind: "history" | "home") {
  const { newestFirst } = await readGenerations(database, wake, { kind, sessionId: null });
  return newestFirst.filter(({ state }) => state === "verified");
}

/** The newest that is whole; null when none is. What the store or the sandbox cannot do just now is thrown. */
async function restoreNewest<Answer>(
  context: ArchiveContext,
  { sandboxId, signal }: Wake,
  input: {
    rows: Awaited<ReturnType<typeof listVerified>>;
    restore: (input: RestoreArchive) => Promise<Answer>;
  },
): Promise<Answer | null> {
  for (const row of input.rows) {
    try {
      return await input.restore({ body: await openStoredArchive(context, row, signal), signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!isUnusable(error)) throw error;
      context.logger.error({ err: error, sandboxId, archiveId: row.id }, "An archive cannot be restored");
    }
  }
  return null;
}

function isUnusable(error: unknown): boolean {
  if (error instanceof DamagedArchive) return true;
  return isAppError(error) && (error.kind === "invalid-input" || error.kind === "too-large");
}

/** All sessions of the sandbox share its memory. */
async function noteMemory(database: Database, { actor, sandboxId }: Wake, cause: string | null): Promise<void> {
  await database.transaction(actor, (tx) =>
    tx
      .update(sessions)
      .set({
        memoryStatus: cause ? "fresh" : "restored",
        memoryCause: cause ?? "The agent's memory was brought back from its archive.",
        memoryAt: sql`now()`,
      })
      .where(and(eq(sessions.sandboxId, sandboxId), isNotNull(sessions.agentSessionId))),
  );
}
