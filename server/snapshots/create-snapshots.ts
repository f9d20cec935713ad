import { and, eq } from "drizzle-orm";
import { sandboxes, sessions, turns } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import type { Lifecycle, OwnedSandbox } from "../lifecycle/index.ts";
import { archiveNote } from "../protocol/archive/archive-answers.ts";
import { sessionId as sessionIdSchema } from "../protocol/ids.ts";
import type { Snapshot } from "../protocol/snapshots.ts";
import { type ArchiveContext, asPerson } from "./archive-context.ts";
import { type ArchiveRow, readSnapshots, setRestoreRequest } from "./archive-rows.ts";
import type { TakesArchives } from "./create-archives.ts";
import type { Snapshots } from "./index.ts";
import { listEntries } from "./list-entries.ts";
import { openEntry } from "./open-entry.ts";
import { clearRestoreRequest } from "./replace-workspace.ts";
import { requireStoreKey } from "./store-keys.ts";

export interface SnapshotsOptions extends ArchiveContext {
  archives: Pick<TakesArchives, "take" | "replace">;
  lifecycle: Pick<Lifecycle, "findRunning">;
}

const contents = archiveNote.omit({ fingerprint: true });

export function createSnapshots({ archives, lifecycle, ...context }: SnapshotsOptions): Snapshots {
  const { database, fileStore } = context;

  /** `sandbox` where it runs here; `isAwake` wherever it runs, or is about to. */
  async function requireSession(
    actor: Actor,
    sessionId: string,
  ): Promise<{ sandbox: OwnedSandbox | null; isAwake: boolean }> {
    const wanted = sessionIdSchema.safeParse(sessionId);
    const [row] = wanted.success
      ? await database.transaction(actor, (tx) =>
          tx
            .select({ sandboxId: sessions.sandboxId, state: sandboxes.observedState })
            .from(sessions)
            .leftJoin(sandboxes, eq(sandboxes.id, sessions.sandboxId))
            .where(eq(sessions.id, wanted.data)),
        )
      : [];
    if (!row) throw new AppError("not-found", "There is no such session.");
    const running = row.sandboxId ? lifecycle.findRunning(row.sandboxId) : null;
    const isAwake = row.state === "running" || row.state === "provisioning";
    return { sandbox: running && { ...running, actor }, isAwake };
  }

  async function requireSnapshot(actor: Actor, input: { sessionId: string; snapshotId: string }): Promise<ArchiveRow> {
    const rows = await readSnapshots(database, actor, input.sessionId);
    const row = rows.find(({ id }) => id === input.snapshotId);
    if (!row)
      throw new AppError("not-found", "There is no such snapshot. Old snapshots are deleted as newer ones are taken.");
    if (row.state !== "verified") throw new AppError("conflict", "This snapshot is not complete.");
    return row;
  }

  async function requireIdle(actor: Actor, sessionId: string): Promise<void> {
    const running = await database.transaction(actor, (tx) =>
      tx
        .select({ id: turns.id })
        .from(turns)
        .where(and(eq(turns.sessionId, sessionId), eq(turns.state, "running"))),
    );
    if (running.length > 0) throw new AppError("conflict", "The agent is working. Stop it before you restore.");
  }

  const read: Snapshots["read"] = async (actor, { signal, ...input }) => {
    await requireSession(actor, input.sessionId);
    const row = await requireSnapshot(actor, input);
    const body = await fileStore.read(requireStoreKey(row.storeKey), { signal });
    if (!body) throw new AppError("upstream", "The snapshot is missing from the file store.");
    return { body, bytes: row.bytes ?? 0, createdAt: row.createdAt };
  };

  return {
    async list(actor, sessionId) {
      await requireSession(actor, sessionId);
      return (await readSnapshots(database, actor, sessionId)).map(toSnapshot);
    },
    async take(actor, { sessionId, signal }) {
      const { sandbox } = await requireSession(actor, sessionId);
      if (!sandbox) throw new AppError("unavailable", "A snapshot can only be taken while the sandbox is awake.");
      const { outcome, archiveId } = await archives.take(sandbox, {
        subject: { kind: "workspace", sessionId },
        signal,
      });
      return { outcome, snapshotId: archiveId };
    },
    read,
    listFiles: async (actor, input) => listEntries((await read(actor, input)).body),
    readFile: (actor, { path, ...input }) => openEntry(async () => (await read(actor, input)).body, path),
    async restore(actor, { signal, ...input }) {
      const { sessionId } = input;
      const { sandbox } = await requireSession(actor, sessionId);
      const row = await requireSnapshot(actor, input);
      let isRequested = false;
      // Until it is done: a restore that is cut off is made up for when the workspace is opened next.
      const request = async () => {
        await requireIdle(actor, sessionId);
        isRequested = true;
        await setRestoreRequest(asPerson(context, actor), { sessionId, archiveId: row.id });
        context.onSessionChanged?.(sessionId);
      };
      if (!sandbox) {
        await request();
        return { outcome: "at-next-wake", setAside: false };
      }
      try {
        // Asked once turns that begin wait: one that began before is seen, and none comes in between.
        const { setAside } = await archives.replace(sandbox, { row, sessionId, signal, ready: request });
        return { outcome: "restored", setAside };
      } catch (error) {
        // Whoever was told that it failed does not expect it to happen later.
        if (isRequested) await clearRestoreRequest(context, asPerson(context, actor), sessionId);
        throw error;
      }
    },
    async withdrawRestore(actor, input) {
      const { isAwake } = await requireSession(actor, input.sessionId);
      const row = await requireSnapshot(actor, input);
      if (!row.restoreRequestedAt) return;
      if (isAwake) {
        const message =
          "The sandbox is awake, so the restore may already have begun. The files it replaces are kept as a snapshot.";
        throw new AppError("conflict", message);
      }
      await clearRestoreRequest(context, asPerson(context, actor), input.sessionId);
    },
  };
}

function toSnapshot(row: ArchiveRow): Snapshot {
  return {
    id: row.id,
    state: row.state,
    createdAt: row.createdAt.toISOString(),
    bytes: row.bytes,
    contents: contents.safeParse(row.manifest).data ?? null,
    cause: row.cause,
    restoreRequested: row.restoreRequestedAt !== null,
  };
}
