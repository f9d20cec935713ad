import { and, eq, isNotNull } from "drizzle-orm";
import { sessions } from "../../db/schema/index.ts";
import { AppError, isAppError } from "../errors.ts";
import { defaultLimits } from "../file-store/index.ts";
import { bounded } from "../lib/bounded.ts";
import { createSerial, type Serial } from "../lib/serial.ts";
import {
  type ArchiveContext,
  asPerson,
  cleanUpMilliseconds,
  type OwnedSandbox,
  type Subject,
} from "./archive-context.ts";
import { readSnapshots } from "./archive-rows.ts";
import type { Archives } from "./index.ts";
import { openWorkspace } from "./open-workspace.ts";
import { failAbandoned, removeArchive } from "./prune-archives.ts";
import { type Replacing, replaceWorkspace } from "./replace-workspace.ts";
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

  async function listSubjects({ actor, sandboxId }: OwnedSandbox): Promise<Subject[]> {
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
    async archiveSandbox(sandbox, signal) {
      for (const subject of await listSubjects(sandbox)) {
        try {
          // Nobody waits for it, and people work meanwhile.
          await take(sandbox, { subject, gently: true, signal });
        } catch (error) {
          signal.throwIfAborted();
          sandbox.signal.throwIfAborted();
          // Not opened in this life, so unchanged; or gone.
          if (subject.kind === "workspace" && isAppError(error) && isUnopened(error.kind)) continue;
          logger.warn({ err: error, sandboxId: sandbox.sandboxId, ...subject }, "An archive was not taken");
        }
      }
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
    },
  };
}

function isUnopened(kind: string): boolean {
  return kind === "conflict" || kind === "not-found";
}
