import { randomUUID } from "node:crypto";
import { AppError, isAppError, isRefused } from "../errors.ts";
import type { StoredObject } from "../file-store/index.ts";
import type { OwnedSandbox } from "../lifecycle/index.ts";
import { type ArchiveContext, asHolder, cleanUpMilliseconds, type Subject } from "./archive-context.ts";
import {
  commitArchive,
  failArchive,
  type Generations,
  insertArchive,
  isThere,
  readGenerations,
} from "./archive-rows.ts";
import { pruneArchives, publishHistory, removeArchive } from "./prune-archives.ts";
import { type ArchiveMade, type CreateArchive, createSidecarArchives } from "./sidecar-archives.ts";
import { generationKey } from "./store-keys.ts";

export interface Taking {
  subject: Subject;
  /** At low priority, beside somebody's work. */
  gently?: boolean;
  signal: AbortSignal;
}

export interface TakenArchive {
  /** `empty` and `unchanged`: the durable ones stay as they are (ARCHITECTURE.md, invariants 8, 21). */
  outcome: "verified" | "empty" | "unchanged";
  /** Of the new archive, or of the one that still holds. */
  archiveId: string | null;
}

/**
 * One archive as a new generation: written under a key of its own, which the store verifies where it lies, and
 * only then committed, if the sandbox is still ours and its history the same. Whatever goes wrong before leaves a
 * failed row with its cause and no object.
 */
export async function takeArchive(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  { subject, gently = false, signal }: Taking,
): Promise<TakenArchive> {
  const generations = await readGenerations(context.database, sandbox, subject);
  const newest = generations.newestFirst.find(({ state }) => state === "verified");
  const id = randomUUID();
  const making: Making = { id, subject, generations, begun: false };
  try {
    const made = await create(context, sandbox, { making, unless: newest?.fingerprint ?? null, gently, signal });
    if (made.outcome !== "made") {
      await removeFailures(context, sandbox, making);
      return { outcome: made.outcome, archiveId: newest?.id ?? null };
    }
    await commit(context, sandbox, { making, made });
  } catch (error) {
    await recordFailure(context, sandbox, { making, error });
    throw error;
  }
  if (subject.kind === "history") await publishHistory(context, sandbox, signal);
  await pruneArchives(context, sandbox, { subject, signal }).finally(() => notifySession(context, subject));
  return { outcome: "verified", archiveId: id };
}

interface Making {
  readonly id: string;
  readonly subject: Subject;
  readonly generations: Generations;
  /** There is a row. */
  begun: boolean;
}

function notifySession(context: ArchiveContext, { sessionId }: Subject): void {
  if (sessionId) context.onSessionChanged?.(sessionId);
}

function create(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  { making, ...wanted }: { making: Making; unless: string | null; gently: boolean; signal: AbortSignal },
): Promise<ArchiveMade<StoredObject>> {
  const { database, fileStore } = context;
  const { id, subject, generations } = making;
  const key = generationKey(sandbox, subject, id);
  const sidecar = createSidecarArchives(sandbox.sidecar);
  const input: CreateArchive<StoredObject> = {
    ...wanted,
    archiveId: id,
    async sink(body) {
      const { historyEpoch } = generations;
      await insertArchive(database, sandbox, { ...subject, id, storeKey: key, historyEpoch });
      making.begun = true;
      notifySession(context, subject);
      // Resolves once it is durable and was verified where it lies.
      return fileStore.write(key, body, wanted.signal);
    },
  };
  if (subject.kind === "workspace") return sidecar.createWorkspace({ ...input, sessionId: subject.sessionId });
  return subject.kind === "history" ? sidecar.createHistory(input) : sidecar.createHome(input);
}

async function commit(
  { database }: ArchiveContext,
  sandbox: OwnedSandbox,
  { making, made }: { making: Making; made: ArchiveMade<StoredObject> & { outcome: "made" } },
): Promise<void> {
  const { stored, note } = made;
  const { historyEpoch } = making.generations;
  if (await commitArchive(database, sandbox, { id: making.id, subject: making.subject, historyEpoch, stored, note }))
    return;
  throw new AppError(
    "conflict",
    "The sandbox was taken over or reset, or the session removed, while it was being archived.",
  );
}

/** Nothing is unsaved, so what failed before is no longer worth saying. */
async function removeFailures(context: ArchiveContext, sandbox: OwnedSandbox, { subject, generations }: Making) {
  const failed = generations.newestFirst.filter(({ state }) => state === "failed");
  const signal = AbortSignal.timeout(cleanUpMilliseconds);
  const write = asHolder(context, sandbox);
  for (const row of failed) await removeArchive(context, row, { write, signal });
  if (failed.length > 0) notifySession(context, subject);
}

async function recordFailure(
  context: ArchiveContext,
  sandbox: OwnedSandbox,
  { making, error }: { making: Making; error: unknown },
): Promise<void> {
  const { database, fileStore, logger } = context;
  const { id, subject, generations } = making;
  const storeKey = generationKey(sandbox, subject, id);
  const cause = isAppError(error) ? error.message : "The archive could not be made. The server's log says why.";
  try {
    if (making.begun) {
      const isFailed = await failArchive(asHolder(context, sandbox), { id, cause });
      // It was committed, and only the answer got lost. Without a row its session was removed meanwhile.
      if (!isFailed && (await isThere(database, sandbox.actor, id))) return;
      await fileStore.remove(storeKey, AbortSignal.timeout(cleanUpMilliseconds));
    } else if (isAppError(error) && error.kind === "too-large") {
      // Refused before there was anything to write: said all the same, since it stays so until somebody acts.
      const { historyEpoch } = generations;
      await insertArchive(database, sandbox, { ...subject, id, storeKey, historyEpoch, state: "failed", cause });
      await pruneArchives(context, sandbox, {
        subject,
        signal: AbortSignal.timeout(cleanUpMilliseconds),
      });
    }
  } catch (failure) {
    // What a superseded server began is swept by others.
    if (isRefused(failure, "lease-superseded")) return;
    logger.error({ err: failure, archiveId: id }, "A failed archive could not be marked as such");
  } finally {
    notifySession(context, subject);
  }
}
