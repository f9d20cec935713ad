import type { ArchiveRow } from "./archive-rows.ts";

type Judged = Pick<ArchiveRow, "id" | "kind" | "state" | "createdAt" | "restoreRequestedAt">;

const generations = 3;
const lastSnapshots = 5;
const dailySnapshots = 7;

/**
 * Which archives of one subject (a sandbox's history or HOME, a session's workspace) may go, given from the
 * newest to the oldest. Never the newest verified one, never one under way, never one that somebody waits for.
 */
export function findSurplus<Row extends Judged>(newestFirst: readonly Row[]): Row[] {
  const verified = newestFirst.filter(({ state }) => state === "verified");
  const kept = new Set(verified[0]?.kind === "workspace" ? keptSnapshots(verified) : verified.slice(0, generations));
  // A failure is worth showing until the next success.
  const [news] = newestFirst;
  return newestFirst.filter(
    (row) => row.state !== "writing" && !kept.has(row) && row.restoreRequestedAt === null && row !== news,
  );
}

/** The last few, and of each of the last days on which there was one, the newest. */
function keptSnapshots<Row extends Judged>(newestFirst: readonly Row[]): Row[] {
  const days = new Map<string, Row>();
  for (const row of newestFirst) {
    const day = row.createdAt.toISOString().slice(0, 10);
    if (!days.has(day)) days.set(day, row);
  }
  return [...newestFirst.slice(0, lastSnapshots), ...[...days.values()].slice(0, dailySnapshots)];
}
