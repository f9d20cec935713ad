import type { Stats } from "node:fs";
import { type RawName, writtenName } from "../../server/protocol/archive/raw-name.ts";
import { fileSize } from "../../server/protocol/file-size.ts";
import { shownName } from "../../server/protocol/shown-name.ts";
import { Problem } from "../sidecar-problem.ts";
import { createFingerprint } from "./fingerprint.ts";
import { createTimeSlices } from "./time-slices.ts";
import { type TreeEntry, type WalkOptions, walkTree } from "./walk-tree.ts";

export interface TreeLimits {
  maxBytes: number;
  maxEntries: number;
}

export interface TreeMeasure {
  /** Of everything that is taken. */
  fingerprint: string;
  entries: number;
  /** A file of several names counts once. */
  bytes: number;
  /** The largest first. */
  heaviest: { name: RawName; bytes: number }[];
}

const heaviestCount = 5;
const maxHardLinks = 200_000;
/** Clocks of file systems tick coarsely: a write right after the look at a file may leave its times as they were. */
export const steadyMilliseconds = 20;

export interface MeasureOptions extends WalkOptions {
  onEntry?(entry: TreeEntry): void;
  /** Files that are touched by being looked at: only their time of writing counts. */
  touchedByReading?(name: RawName): boolean;
}

export async function measureTree(walk: MeasureOptions, signal?: AbortSignal): Promise<TreeMeasure> {
  const slices = createTimeSlices(signal);
  const fingerprint = createFingerprint();
  const hardLinks = createHardLinks();
  const heaviest: TreeMeasure["heaviest"] = [];
  let entries = 0;
  let bytes = 0;
  let isSteady = true;
  for (const entry of walkTree(walk)) {
    const { name, kind, status } = entry;
    walk.onEntry?.(entry);
    entries += 1;
    const changedAt = walk.touchedByReading?.(name) ? status.mtimeMs : status.ctimeMs;
    fingerprint.add(entry, changedAt);
    if (kind !== "directory" && Date.now() - changedAt < steadyMilliseconds) isSteady = false;
    if (kind === "file" && hardLinks.firstName(name, status) === null) {
      bytes += status.size;
      noteHeavy(heaviest, { name, bytes: status.size });
    }
    const pause = slices.turn();
    if (pause) await pause;
  }
  if (!isSteady) fingerprint.spoil();
  return { fingerprint: fingerprint.digest(), entries, bytes, heaviest };
}

/** Remembers files of several names. */
export function createHardLinks(): { firstName(name: RawName, status: Stats): RawName | null } {
  const names = new Map<string, RawName>();
  return {
    /** The name under which the same file was met before, or null. */
    firstName(name, status) {
      if (status.nlink < 2) return null;
      const key = `${status.dev}:${status.ino}`;
      const first = names.get(key);
      if (first !== undefined) return first;
      // Beyond that they are archived as files of their own.
      if (names.size < maxHardLinks) names.set(key, name);
      return null;
    },
  };
}

export function requireWithin(measure: TreeMeasure, { maxBytes, maxEntries }: TreeLimits, what: string): void {
  if (measure.bytes > maxBytes) {
    const heavy = measure.heaviest
      .map(({ name, bytes }) => `${shownName(writtenName(name))} (${fileSize(bytes)})`)
      .join(", ");
    throw new Problem(
      "too-large",
      `${what} is ${fileSize(measure.bytes)}, over the limit of ${fileSize(maxBytes)} for an archive. Largest: ${heavy}.`,
    );
  }
  if (measure.entries > maxEntries) {
    throw new Problem(
      "too-large",
      `${what} has ${measure.entries} files and folders. The limit for an archive is ${maxEntries}.`,
    );
  }
}

function noteHeavy(heaviest: TreeMeasure["heaviest"], file: { name: RawName; bytes: number }): void {
  if (heaviest.length === heaviestCount && file.bytes <= (heaviest.at(-1)?.bytes ?? 0)) return;
  heaviest.push(file);
  heaviest.sort((first, second) => second.bytes - first.bytes);
  heaviest.length = Math.min(heaviest.length, heaviestCount);
}
