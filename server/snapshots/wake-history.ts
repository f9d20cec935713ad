import { isAppError } from "../errors.ts";
import type { HistoryState } from "../protocol/archive/archive-answers.ts";
import type { ArchiveContext } from "./archive-context.ts";
import { type ArchiveRow, readGenerations } from "./archive-rows.ts";
import type { Archives, HistoryWake } from "./index.ts";
import { findMissed } from "./missed-archives.ts";
import { noteMemory } from "./note-memory.ts";
import { createSidecarArchives, type RestoreArchive } from "./sidecar-archives.ts";
import { DamagedArchive, openStoredArchive } from "./stored-archive.ts";

type Wake = Parameters<Archives["wakeHistory"]>[0];

const unasked: HistoryState = { hasHistory: true, hasHome: true, known: { history: [], home: [] }, damage: null };

export async function wakeHistory(context: ArchiveContext, wake: Wake): Promise<HistoryWake> {
  const { sidecar, signal } = wake;
  const archives = createSidecarArchives(sidecar);
  const histories = await listVerified(context, wake, "history");
  const homes = await listVerified(context, wake, "home");
  const { historyEpoch, filesEpoch, check } = wake;
  const mayDiffer = histories.length + homes.length + historyEpoch + filesEpoch > 0 || check;
  const disk = mayDiffer ? await archives.prepareHistory({ historyEpoch, filesEpoch, check }, signal) : unasked;
  // The gate opens with the history, so that HOME comes before.
  const missedHomes = disk.hasHome ? findMissed(disk.known.home, homes) : homes;
  await restoreNewest(context, wake, {
    rows: missedHomes,
    restore: (input) => archives.restoreHome({ ...input, knows: homes[0]?.id ?? null, keep: disk.hasHome }),
  });
  const knows = histories[0]?.id ?? null;
  const missed = disk.hasHistory ? findMissed(disk.known.history, histories) : histories;
  if (missed.length === 0) {
    await archives.skipHistory({ knows, signal });
    if (!disk.damage) return { outcome: "kept", cause: null };
  }
  const found = await restoreNewest(context, wake, {
    rows: missed,
    restore: (input) => archives.restoreHistory({ ...input, knows, keep: disk.hasHistory }),
  });
  if (found?.answer.outcome === "kept") return { outcome: "kept", cause: null };
  // Passed over for good: should the store give them back one day, the agent has gone on meanwhile.
  if (!found && missed.length > 0) await archives.skipHistory({ knows, signal });
  const outcome = found?.answer.outcome ?? (disk.hasHistory ? "kept" : "fresh");
  const cause = causeOf(outcome, {
    damage: found?.answer.cause ?? disk.damage,
    isDamaged: disk.damage !== null,
    isOlder: disk.hasHistory,
  });
  if (cause)
    context.logger.error(
      { sandboxId: wake.sandboxId, cause },
      "The agent's history was damaged or older than it should be",
    );
  await noteMemory(context, wake, {
    status: outcome === "fresh" ? "fresh" : "restored",
    cause: cause ?? `The agent's memory was restored from its archive of ${found?.row.createdAt.toUTCString()}.`,
  });
  return { outcome, cause };
}

function causeOf(
  outcome: HistoryWake["outcome"],
  { damage, isDamaged, isOlder }: { damage: string | null; isDamaged: boolean; isOlder: boolean },
): string | null {
  if (outcome === "fresh") {
    const why = damage ?? "no archive of it is intact";
    return `The agent's memory could not be restored: ${why}.`;
  }
  if (outcome === "kept") {
    return "The sandbox's disk is older than the archive of the agent's memory, but that archive is damaged. The agent has the memory from the disk.";
  }
  if (isDamaged) {
    return "The agent's memory on the sandbox's disk was damaged, so its archive was restored. The damaged one was set aside there.";
  }
  return isOlder
    ? "The sandbox's disk was older than the archive of the agent's memory, so the archive was restored. The memory that was on the disk was set aside there."
    : null;
}

async function listVerified({ database }: ArchiveContext, wake: Wake, kind: "history" | "home") {
  const { newestFirst } = await readGenerations(database, wake, { kind, sessionId: null });
  return newestFirst.filter(({ state }) => state === "verified");
}

/** The newest that is whole; null when none is. What the store or the sandbox cannot do just now is thrown. */
async function restoreNewest<Answer>(
  context: ArchiveContext,
  { sandboxId, signal }: Wake,
  input: { rows: readonly ArchiveRow[]; restore: (input: RestoreArchive) => Promise<Answer> },
): Promise<{ answer: Answer; row: ArchiveRow } | null> {
  for (const row of input.rows) {
    try {
      return { answer: await input.restore({ body: await openStoredArchive(context, row, signal), signal }), row };
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
