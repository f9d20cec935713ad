import { and, eq, isNotNull } from "drizzle-orm";
import { sessions } from "../../db/schema/index.ts";
import { isAppError } from "../errors.ts";
import { defaultLimits } from "../file-store/index.ts";
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
import { type TakenArchive, takeArchive } from "./take-archive.ts";
import { wakeHistory } from "./wake-history.ts";

export interface TakesArchives extends Archives {
  take(sandbox: OwnedSandbox, input: { subject: Subject; signal: AbortSignal }): Promise<TakenArchive>;
}

/** Longer than any write to the store may take. */
const abandonedMilliseconds = defaultLimits.writeMilliseconds + 3_600_000;

export function createArchives(context: ArchiveContext): TakesArchives {
  const { database, fileStore, logger } = context;
  // One after another in each sandbox: it packs one thing at a time.
  const serials = new WeakMap<AbortSignal, Serial>();

  function take(sandbox: OwnedSandbox, { subject, signal }: { subject: Subject; signal: AbortSignal }) {
    const serial = serials.get(sandbox.signal) ?? createSerial();
    serials.set(sandbox.signal, serial);
    const either = AbortSignal.any([signal, sandbox.signal]);
    return serial.run(async () => {
      either.throwIfAborted();
      return takeArchive(context, sandbox, { subject, signal: either });
    });
  }

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
    openWorkspace: (sandbox, input) =>
      openWorkspace(context, sandbox, {
        ...input,
        take: () => take(sandbox, { subject: { kind: "workspace", sessionId: input.sessionId }, signal: input.signal }),
      }),
    async archiveSandbox(sandbox, signal) {
      for (const subject of await listSubjects(sandbox)) {
        try {
          await take(sandbox, { subject, signal });
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
