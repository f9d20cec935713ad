import { sql } from "drizzle-orm";
import { findStoreKey, type StoreKey } from "../file-store/index.ts";
import type { ArchiveContext } from "./archive-context.ts";

const folder = findStoreKey("sandbox-snapshots");
const batchSize = 500;

/**
 * Objects that no row names: of a clean-up that failed, or of a person whose rows are gone. Only those that are older
 * than any write may take, since an object is there before its row says so. Returns how many were removed.
 */
export async function sweepObjects(
  { database, fileStore, logger }: ArchiveContext,
  { olderThanMilliseconds, signal }: { olderThanMilliseconds: number; signal: AbortSignal },
): Promise<number> {
  const before = Date.now() - olderThanMilliseconds;
  let removed = 0;

  async function sweep(keys: readonly StoreKey[]): Promise<void> {
    if (keys.length === 0) return;
    // Written by us, without a comma or a brace in them.
    const rows = await database.transaction("nobody", (tx) =>
      tx.execute(sql`select store_key from known_store_keys(${`{${keys.join(",")}}`}::text[])`),
    );
    const known = new Set(rows.map(({ store_key }) => String(store_key)));
    for (const key of keys) {
      if (known.has(key)) continue;
      signal.throwIfAborted();
      await fileStore.remove(key, signal);
      logger.warn({ key }, "An object that nobody knows was removed from the file store");
      removed += 1;
    }
  }

  let batch: StoreKey[] = [];
  for await (const { key, modifiedAt } of fileStore.list(folder, signal)) {
    if (modifiedAt.getTime() > before) continue;
    batch.push(key);
    if (batch.length < batchSize) continue;
    await sweep(batch);
    batch = [];
  }
  await sweep(batch);
  return removed;
}
