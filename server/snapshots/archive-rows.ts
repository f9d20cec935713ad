import { and, desc, eq, isNull, type SQL, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import { archives, sandboxes, sessions } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import type { StoredObject } from "../file-store/index.ts";
import type { OwnedSandbox } from "../lifecycle/index.ts";
import type { ArchiveNote } from "../protocol/archive/archive-answers.ts";
import { tenantId, userId } from "../protocol/ids.ts";
import { asHolder, type Subject, type Write } from "./archive-context.ts";

export type ArchiveRow = typeof archives.$inferSelect;

const maxRows = 200;

/** Of a sandbox whose history epoch is read in the same moment: what an older epoch left does not count. */
export interface Generations {
  historyEpoch: number;
  newestFirst: ArchiveRow[];
}

export function readGenerations(
  database: Database,
  { actor, sandboxId }: { actor: Actor; sandboxId: string },
  subject: Subject,
): Promise<Generations> {
  return database.transaction(actor, async (tx) => {
    const [sandbox] = await tx
      .select({ historyEpoch: sandboxes.historyEpoch })
      .from(sandboxes)
      .where(eq(sandboxes.id, sandboxId));
    const historyEpoch = sandbox?.historyEpoch ?? 0;
    const ofEpoch = subject.kind === "workspace" ? undefined : eq(archives.historyEpoch, historyEpoch);
    const newestFirst = await select(tx, and(eq(archives.sandboxId, sandboxId), ofSubject(subject), ofEpoch));
    return { historyEpoch, newestFirst };
  });
}

/** The person's own alone, whatever an admin may see. */
export function readSnapshots(database: Database, actor: Actor, sessionId: string): Promise<ArchiveRow[]> {
  const own = eq(archives.userId, actor.userId);
  return database.transaction(actor, (tx) => select(tx, and(own, ofSubject({ kind: "workspace", sessionId }))));
}

function select(tx: Transaction, where: SQL | undefined): Promise<ArchiveRow[]> {
  return tx.select().from(archives).where(where).orderBy(desc(archives.createdAt), desc(archives.id)).limit(maxRows);
}

function ofSubject({ kind, sessionId }: Subject): SQL | undefined {
  return and(
    eq(archives.kind, kind),
    sessionId === null ? isNull(archives.sessionId) : eq(archives.sessionId, sessionId),
  );
}

export async function insertArchive(
  database: Database,
  sandbox: Pick<OwnedSandbox, "actor" | "sandboxId" | "leaseEpoch">,
  row: Subject & Pick<ArchiveRow, "id" | "storeKey" | "historyEpoch"> & Partial<Pick<ArchiveRow, "state" | "cause">>,
): Promise<void> {
  const { sandboxId, leaseEpoch, actor } = sandbox;
  const { tenantId, userId } = actor;
  await asHolder(
    { database },
    sandbox,
  )((tx) => tx.insert(archives).values({ ...row, tenantId, userId, sandboxId, leaseEpoch }));
}

/**
 * From here on the archive counts. False, and nothing changed, once the sandbox has another holder or another
 * history, the session was removed, or the row was failed by somebody meanwhile.
 */
export function commitArchive(
  database: Database,
  sandbox: Pick<OwnedSandbox, "actor" | "sandboxId" | "leaseEpoch">,
  made: { id: string; subject: Subject; historyEpoch: number; stored: StoredObject; note: ArchiveNote },
): Promise<boolean> {
  const { id, subject, historyEpoch, stored, note } = made;
  return database.transaction(sandbox.actor, async (tx) => {
    if (subject.sessionId !== null) {
      // Removed meanwhile, it must not leave a snapshot behind.
      const [session] = await tx
        .select({ id: sessions.id })
        .from(sessions)
        .where(eq(sessions.id, subject.sessionId))
        .for("key share");
      if (!session) return false;
    }
    const [held] = await tx
      .select({ id: sandboxes.id })
      .from(sandboxes)
      .where(
        and(
          eq(sandboxes.id, sandbox.sandboxId),
          eq(sandboxes.leaseEpoch, sandbox.leaseEpoch),
          eq(sandboxes.historyEpoch, historyEpoch),
        ),
      )
      .for("no key update");
    if (!held) return false;
    const { fingerprint, ...manifest } = note;
    const { bytes, sha256, checksum } = stored;
    const rows = await tx
      .update(archives)
      .set({ state: "verified", verifiedAt: sql`now()`, bytes, sha256, checksum, fingerprint, manifest })
      .where(and(eq(archives.id, id), eq(archives.state, "writing")))
      .returning({ id: archives.id });
    return rows.length > 0;
  });
}

/** False, and nothing changed, for one that is verified or failed already. */
export async function failArchive(write: Write, { id, cause }: { id: string; cause: string }): Promise<boolean> {
  const rows = await write((tx) =>
    tx
      .update(archives)
      .set({ state: "failed", cause })
      .where(and(eq(archives.id, id), eq(archives.state, "writing")))
      .returning({ id: archives.id }),
  );
  return rows.length > 0;
}

export async function isThere(database: Database, actor: Actor, id: string): Promise<boolean> {
  const rows = await database.transaction(actor, (tx) =>
    tx.select({ id: archives.id }).from(archives).where(eq(archives.id, id)),
  );
  return rows.length > 0;
}

export async function deleteArchive(write: Write, id: string): Promise<void> {
  await write((tx) => tx.delete(archives).where(eq(archives.id, id)));
}

/** Null withdraws the request. A session has one at most. */
export async function setRestoreRequest(
  write: Write,
  { sessionId, archiveId }: { sessionId: string; archiveId: string | null },
): Promise<void> {
  await write(async (tx) => {
    await tx
      .update(archives)
      .set({ restoreRequestedAt: null })
      .where(ofSubject({ kind: "workspace", sessionId }));
    if (archiveId === null) return;
    await tx.update(archives).set({ restoreRequestedAt: sql`now()` }).where(eq(archives.id, archiveId));
  });
}

export async function listAbandoned(database: Database) {
  const rows = await database.transaction("nobody", (tx) => tx.execute(sql`select * from list_abandoned_archives()`));
  return rows.map((row) => ({
    id: String(row.archive_id),
    storeKey: String(row.store_key),
    actor: { tenantId: tenantId.parse(row.tenant_id), userId: userId.parse(row.user_id), role: "user" as const },
  }));
}
