import { describe, expect, it } from "vitest";
import type { ArchiveRow } from "./archive-rows.ts";
import { findSurplus } from "./kept-archives.ts";

type Row = Parameters<typeof findSurplus>[0][number];

const hour = 3_600_000;
const start = Date.UTC(2026, 0, 31, 12);

/** Newest first, `every` hours apart. */
function rows(count: number, every: number, kind: ArchiveRow["kind"] = "workspace"): Row[] {
  return Array.from({ length: count }, (_, index) => ({
    id: String(index),
    kind,
    state: "verified" as const,
    createdAt: new Date(start - index * every * hour),
    restoreRequestedAt: null,
  }));
}

const keptOf = (given: Row[]) => {
  const surplus = new Set(findSurplus(given));
  return given.filter((row) => !surplus.has(row)).map(({ id }) => id);
};

describe("what is kept", () => {
  it("is the last three of a history", () => {
    expect(keptOf(rows(6, 1, "history"))).toEqual(["0", "1", "2"]);
    expect(keptOf(rows(1, 1, "history"))).toEqual(["0"]);
  });

  it("is the last five workspace snapshots and the newest of each of seven days", () => {
    const kept = keptOf(rows(240, 1));
    expect(kept.slice(0, 5)).toEqual(["0", "1", "2", "3", "4"]);
    // At 12 o'clock the day is 12 hours old: the newest of the day before is 13 hours away.
    expect(kept.slice(5)).toEqual(["13", "37", "61", "85", "109", "133"]);
  });

  it("is always the newest verified one, what is under way, and what somebody waits for", () => {
    const given = rows(6, 1, "history").map((row, index): Row => {
      if (index === 0) return { ...row, state: "writing" };
      if (index < 5) return { ...row, state: "failed" };
      return row;
    });
    expect(keptOf(given)).toEqual(["0", "5"]);
    expect(
      keptOf(rows(9, 1).map((row) => (row.id === "7" ? { ...row, restoreRequestedAt: row.createdAt } : row))),
    ).toEqual(["0", "1", "2", "3", "4", "7"]);
  });

  it("is a failure until the next success, and only the last", () => {
    const [first, second, third] = rows(3, 1);
    if (!first || !second || !third) throw new Error("There are three.");
    const failed: Row[] = [{ ...first, state: "failed" }, { ...second, state: "failed" }, third];
    expect(keptOf(failed)).toEqual(["0", "2"]);
    expect(keptOf([first, { ...second, state: "failed" }, third])).toEqual(["0", "2"]);
  });
});
