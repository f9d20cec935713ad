import { and, eq, isNotNull } from "drizzle-orm";
import { sandboxes, sessions } from "../../db/schema/index.ts";
import { AppError, isAppError } from "../errors.ts";
import { defaultLimits } from "../file-store/index.ts";
import { bounded } from "../lib/bounded.ts";
import { createSerial, type Serial } from "../lib/serial.ts";
import type { ArchiveRound, OwnedSandbox } from "../lifecycle/index.ts";
import { causes } from "../protocol/causes.ts";
import { type ArchiveContext, asHolder, asPerson, cleanUpMilliseconds, type Subject } from "./archive-context.ts";
import { readGenerations, readSnapshots } from "./archive-rows.ts";
import { clearRemoved } from "./clear-removed.ts";
import { forgetArchives } from "./forget-archives.ts";
import type { Archives } from "./index.ts";
import { openWorkspace } from "./open-workspace.ts";
import { failAbandoned, removeArchive } from "./prune-archives.ts";
import { type Replacing, replaceWorkspace } from "./replace-workspace.ts";
import { sweepObjects } from "./sweep-objects.ts";
import { type TakenArchive, type Taking, takeArchive } from "./take-archive.ts";
import { wakeHistory } from "./wake-history.ts";

export interface TakesArchives extends Archives {
  take(sandbox: OwnedSandbox, input: Taking): Promise<TakenArchive>;
  /**
   * Replaces a workspace by a snapshot, bounded in time. `ready` is called once everybody who asks is told that it is
   * being replaced, and may still refuse. `conflict` while another snapshot is being restored.
   */
  replace(sandbox: OwnedSandbox, input: Replacing & { ready?(): Promise<void> }): Promise<{ setAside: boolean }>;
}

/** Longer than any write to the store may take. */
const abandonedMilliseconds = defaultLimits.writeMilliseconds + 3_600_000;
/** Of a restore with the archive before it, and of any wait for one. */
const replacingMilliseconds = 30 * 60_000;

export function createArchives(context: ArchiveContext): TakesArchives {
  const { database, fileStore, logger } = context;
  // One after another in each sandbox: it packs one thing at a time.
  const serials = new WeakMap<AbortSignal, Serial>();
  // Sessions whose workspace is being replaced, until it is done.
  const replacing = new Map<string, Promise<void>>();

  function serialOf(sandbox: OwnedSandbox): Serial {
    const serial = serials.get(sandbox.signal) ?? createSerial();
    serials.set(sandbox.signal, serial);
    return serial;
  }

  function take(sandbox: OwnedSandbox, taking: Taking) {
    const signal = AbortSignal.any([taking.signal, sandbox.signal]);
    return serialOf(sandbox).run(async () => {
      signal.throwIfAborted();
      return takeArchive(context, sandbox, { ...taking, signal });
    });
  }

  const replace: TakesArchives["replace"] = async (sandbox, { ready, ...input }) => {
    const { sessionId } = input;
    if (replacing.has(sessionId)) {
      throw new AppError("conflict", "A snapshot is already being restored. Try again when that is done.");
    }
    const work = async (signal: AbortSignal) => {
      const done = Promise.withResolvers<void>();
      replacing.set(sessionId, done.promise);
      try {
        await ready?.();
        return await serialOf(sandbox).run(async () => {
          signal.throwIfAborted();
          return replaceWorkspace(context, sandbox, { ...input, signal });
        });
      } finally {
        replacing.delete(sessionId);
        done.resolve();
      }
    };
    return bounded(work, {
      signal: AbortSignal.any([input.signal, sandbox.signal]),
      milliseconds: replacingMilliseconds,
      late: () => new AppError("timeout", "Restoring the files took too long and was given up."),
    });
  };

  const whenReplaced: TakesArchives["whenReplaced"] = async ({ sessionId, signal, onRestoring }) => {
    const done = replacing.get(sessionId);
    if (!done) return;
    await onRestoring();
    await bounded(() => done, {
      signal,
      milliseconds: replacingMilliseconds,
      late: () => new AppError("timeout", "The files are still being restored. Try again when that is done."),
    });
  };

  async function listSubjects({ actor, sandboxId }: Pick<OwnedSandbox, "actor" | "sandboxId">): Promise<Subject[]> {
    const opened = await database.transaction(actor, (tx) =>
      tx
        .select({ id: sessions.id })
        .from(sessions)
        .where(and(eq(sessions.sandboxId, sandboxId), isNotNull(sessions.agentDirectory))),
    );
    return [
      { kind: "history", sessionId: null },
      { kind: "home", sessionId: null },
      ...opened.map(({ id }): Subject => ({ kind: "workspace", sessionId: id })),
    ];
  }

  return {
    take,
    wakeHistory: (input) => wakeHistory(context, input),
    replace,
    openWorkspace: (sandbox, input) =>
      openWorkspace(context, sandbox, {
        ...input,
        async replace(request) {
          await whenReplaced(input);
          return replace(sandbox, request);
        },
      }),
    isReplacing: (sessionId) => replacing.has(sessionId),
    whenReplaced,
    async archiveSandbox(sandbox, { gently = false, only, signal }) {
      const failures: ArchiveRound["failures"] = [];
      for (const subject of await listSubjects(sandbox)) {
        if (only && subject.kind !== only) continue;
        try {
          await take(sandbox, { subject, gently, signal });
        } catch (error) {
          signal.throwIfAborted();
          sandbox.signal.throwIfAborted();
          // Not opened in this life, so unchanged; or gone.
          if (subject.kind === "workspace" && isAppError(error) && isUnopened(error.kind)) continue;
          logger.warn({ err: error, sandboxId: sandbox.sandboxId, ...subject }, "An archive was not taken");
          failures.push({ savedAt: await savedAt(context, sandbox, subject), cause: causeOf(subject, error) });
        }
      }
      if (!only && failures.length === 0) await noteSaved(context, sandbox);
      return { failures };
    },
    async savedUntil(sandbox) {
      const times = await Promise.all(
        (await listSubjects(sandbox)).map((subject) => savedAt(context, sandbox, subject)),
      );
      return new Date(Math.min(...times.map((time) => time.getTime())));
    },
    forget: (input) => forgetArchives(context, input),
    async clearRemoved(sandbox, signal) {
      const either = AbortSignal.any([signal, sandbox.signal]);
      // After what is just being archived.
      await serialOf(sandbox).run(() => clearRemoved(context, sandbox, either));
    },
    async removeSnapshots(actor, sessionId) {
      const signal = AbortSignal.timeout(cleanUpMilliseconds);
      for (const row of await readSnapshots(database, actor, sessionId)) {
        await removeArchive(context, row, { write: asPerson(context, actor), signal });
      }
    },
    async sweep(signal) {
      const abandoned = await failAbandoned(context, signal);
      const swept = await fileStore.sweep({ olderThanMilliseconds: abandonedMilliseconds, signal });
      if (abandoned + swept > 0) logger.info({ abandoned, swept }, "Unfinished archives were removed");
      await sweepObjects(context, { olderThanMilliseconds: abandonedMilliseconds, signal });
    },
  };
}

function causeOf({ kind }: Subject, error: unknown): string {
  const what = { history: "The agent's memory", home: "The agent's settings", workspace: "The files of a session" }[
    kind
  ];
  return `${what} could not be archived: ${isAppError(error) ? error.message : causes.internal.message}`;
}

/** Until when it is archived; what never was, since the sandbox exists. */
async function savedAt(
  { database }: ArchiveContext,
  sandbox: Pick<OwnedSandbox, "actor" | "sandboxId">,
  subject: Subject,
): Promise<Date> {
  const { newestFirst } = await readGenerations(database, sandbox, subject);
  const newest = newestFirst.find(({ state }) => state === "verified");
  if (newest) return newest.createdAt;
  const [row] = await database.transaction(sandbox.actor, (tx) =>
    tx.select({ createdAt: sandboxes.createdAt }).from(sandboxes).where(eq(sandboxes.id, sandbox.sandboxId)),
  );
  return row?.createdAt ?? new Date();
}

/** Nothing is on the disk only any more. */
async function noteSaved(context: ArchiveContext, sandbox: OwnedSandbox): Promise<void> {
  await asHolder(
    context,
    sandbox,
  )((tx) =>
    tx
      .update(sandboxes)
      .set({ unsavedSince: null })
      .where(and(eq(sandboxes.id, sandbox.sandboxId), isNotNull(sandboxes.unsavedSince))),
  );
}

function isUnopened(kind: string): boolean {
  return kind === "conflict" || kind === "not-found";
}
