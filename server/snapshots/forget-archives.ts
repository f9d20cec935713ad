import { and, eq, inArray } from "drizzle-orm";
import { archives } from "../../db/schema/index.ts";
import { type ArchiveContext, asHolder } from "./archive-context.ts";
import type { Archives } from "./index.ts";
import { removeArchive } from "./prune-archives.ts";
import { newestHistoryKey } from "./store-keys.ts";

const maxRows = 10_000;

/** The object under the fixed key goes first: it alone could be found without a row. */
export async function forgetArchives(
  context: ArchiveContext,
  { actor, sandboxId, leaseEpoch, files, signal }: Parameters<Archives["forget"]>[0],
): Promise<void> {
  const write = asHolder(context, { actor, sandboxId, leaseEpoch });
  await write(async () => {});
  await context.fileStore.remove(newestHistoryKey({ actor, sandboxId }), signal);
  const kinds = files ? (["history", "home", "workspace"] as const) : (["history", "home"] as const);
  const rows = await context.database.transaction(actor, (tx) =>
    tx
      .select()
      .from(archives)
      .where(and(eq(archives.sandboxId, sandboxId), inArray(archives.kind, [...kinds])))
      .limit(maxRows),
  );
  const sessionIds = new Set<string>();
  for (const row of rows) {
    await removeArchive(context, row, { write, signal });
    if (row.sessionId) sessionIds.add(row.sessionId);
  }
  for (const sessionId of sessionIds) context.onSessionChanged?.(sessionId);
}
