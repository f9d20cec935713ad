import type { OwnedSandbox } from "../lifecycle/index.ts";
import { type ArchiveContext, asHolder, asPerson, type Subject, type Write } from "./archive-context.ts";
import { type ArchiveRow, deleteArchive, failArchive, listAbandoned, readGenerations } from "./archive-rows.ts";
import { findSurplus } from "./kept-archives.ts";
import { newestHistoryKey, requireStoreKey } from "./store-keys.ts";

/** Removes the object before its row: a death in between leaves a row that is pruned again, never a lost object. */
export async function removeArchive(
  { fileStore }: ArchiveContext,
  row: Pick<ArchiveRow, "id" | "storeKey">,
  { write, signal }: { write: Write; signal: AbortSignal },
): Promise<void> {
  // Whoever may not remove the row does not get as far as the object.
  await write(async () => {});
  await fileStore.remove(requireStoreKey(row.storeKey), signal);
  await deleteArchive(write, row.id);
}

export async function pruneArchives(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  { subject, signal }: { subject: Subject; signal: AbortSignal },
): Promise<void> {
  const { newestFirst } = await readGenerations(context.database, sandbox, subject);
  const write = asHolder(context, sandbox);
  for (const row of findSurplus(newestFirst)) await removeArchive(context, row, { write, signal });
}

const maxRounds = 3;

/** Makes the fixed key what the rows say, also when a reset or another holder came in between. */
export async function publishHistory(
  { database, fileStore }: ArchiveContext,
  owner: Pick<OwnedSandbox, "actor" | "sandboxId">,
  signal: AbortSignal,
): Promise<void> {
  const fixed = newestHistoryKey(owner);
  const find = async () => {
    const { newestFirst } = await readGenerations(database, owner, { kind: "history", sessionId: null });
    return newestFirst.find(({ state }) => state === "verified");
  };
  let newest = await find();
  for (let round = 0; round < maxRounds; round += 1) {
    if (newest) await fileStore.copy(requireStoreKey(newest.storeKey), fixed, signal);
    else await fileStore.remove(fixed, signal);
    const now = await find();
    if (now?.id === newest?.id) return;
    newest = now;
  }
}

/** Fails and removes what writers that are gone left unfinished, whosever it is. Returns how many there were. */
export async function failAbandoned(context: ArchiveContext, signal: AbortSignal): Promise<number> {
  const abandoned = await listAbandoned(context.database);
  for (const { id, storeKey, actor } of abandoned) {
    signal.throwIfAborted();
    // The row first: a writer that is alive after all then commits nothing.
    const cause = "The server ended before the archive was complete.";
    if (!(await failArchive(asPerson(context, actor), { id, cause }))) continue;
    await context.fileStore.remove(requireStoreKey(storeKey), signal);
  }
  return abandoned.length;
}
