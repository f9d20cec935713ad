import { describe, expect, it } from "vitest";
import type { ArchiveRow } from "./archive-rows.ts";
import { findMissed } from "./missed-archives.ts";

const row = (id: string, remembered?: boolean) => ({ id, manifest: { remembered } }) as unknown as ArchiveRow;
const rows = [row("third", true), row("second", true), row("first", true)];
const missed = (known: string[], given = rows) => findMissed(known, given).map(({ id }) => id);

describe("what a disk has missed", () => {
  it("is nothing where it knows the newest archive, whatever else it knows", () => {
    expect(missed(["third"])).toEqual([]);
    expect(missed(["unfinished", "third", "second"])).toEqual([]);
    expect(missed(["third", "pruned"])).toEqual([]);
  });

  it("is all that is younger than what it knows", () => {
    expect(missed(["second", "first"])).toEqual(["third"]);
    expect(missed(["first"])).toEqual(["third", "second"]);
    expect(missed(["pruned"])).toEqual(["third", "second", "first"]);
    expect(missed([])).toEqual(["third", "second", "first"]);
  });

  it("is nothing where there is no archive, or the newest was made of a disk that does not remember", () => {
    expect(missed([], [])).toEqual([]);
    for (const forgotten of [row("third", false), row("third")]) expect(missed([], [forgotten, ...rows])).toEqual([]);
  });
});
