import { chmodSync, linkSync, lstatSync, mkdirSync, symlinkSync, unlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { manifestName } from "../../server/protocol/archive/archive-answers.ts";
import { ArchiveRefusal } from "../../server/protocol/archive/archive-refusal.ts";
import { nameBytes, type RawName } from "../../server/protocol/archive/raw-name.ts";
import { type FoundEntry, readTar } from "../../server/protocol/archive/read-tar.ts";
import { codeOf, Problem } from "../problem.ts";
import { refused, segmentsOf } from "./entry-place.ts";
import { gunzip } from "./gunzip.ts";
import type { TreeLimits } from "./measure-tree.ts";
import { createTimeSlices } from "./time-slices.ts";
import { isOfFileSystem, pathIn } from "./walk-tree.ts";
import { writeEntryFile } from "./write-entry-file.ts";

export interface ExtractOptions {
  /** Gzip; read to its end unless the archive is refused. */
  source: AsyncIterable<Uint8Array>;
  /** Made here; must not exist. What is in it after a failure is the caller's to remove. */
  into: string;
  rootName: string;
  /** What to do with entries outside the root: a workspace refuses, the history ignores (invariant 4). */
  unrelated: "refuse" | "ignore";
  limits: TreeLimits;
  signal: AbortSignal;
}

const mostRemembered = 10_000;
/** What an entry may take beside its content, on average. */
const headerBytes = 2_048;

export interface Extracted {
  entries: number;
  bytes: number;
}

/**
 * Unpacks an archive that nobody vouches for into a new directory (invariant 18). Nothing is written
 * through a link, nothing outside the directory, and only files, folders and links are made.
 */
export async function extractArchive(options: ExtractOptions): Promise<Extracted> {
  const { source, into, limits, signal } = options;
  const slices = createTimeSlices(signal);
  const locked: { path: Buffer; mode: number }[] = [];
  /** Made here, and so folders for good: nothing replaces one. */
  const folders = new Set<RawName>();
  let entries = 0;
  let bytes = 0;

  /** Every folder on the way must be one that stands here already, or is made now. */
  function makeParents(segments: readonly RawName[]): void {
    if (folders.has(segments.slice(0, -1).join("/"))) return;
    for (let depth = 1; depth < segments.length; depth += 1) makeDirectory(segments.slice(0, depth), 0o755);
  }

  function makeDirectory(segments: readonly RawName[], mode: number): void {
    const name = segments.join("/");
    if (folders.has(name)) return;
    const path = pathIn(into, name);
    try {
      mkdirSync(path, mode);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      if (!lstatSync(path).isDirectory()) throw refused(name, "it lies below something that is not a folder");
    }
    if (folders.size >= mostRemembered) folders.clear();
    folders.add(name);
  }

  /** Where nothing stands in the way; a later entry of a name replaces an earlier one. */
  function clear(name: RawName, path: Buffer): void {
    const standing = lstatSync(path, { throwIfNoEntry: false });
    if (!standing) return;
    if (standing.isDirectory()) throw refused(name, "it is a folder as well");
    unlinkSync(path);
  }

  async function writeFile(name: RawName, path: Buffer, entry: FoundEntry): Promise<void> {
    try {
      await writeEntryFile(path, entry);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      clear(name, path);
      await writeEntryFile(path, entry);
    }
  }

  async function place(entry: FoundEntry, segments: RawName[]): Promise<void> {
    const name = segments.join("/");
    const path = pathIn(into, name);
    if (entry.kind === "directory") {
      // The root is ours: everything else has to get into it.
      if (segments.length === 0) return;
      makeParents(segments);
      makeDirectory(segments, 0o755);
      // One that its owner may not write into is locked when everything is in it.
      if ((entry.mode & 0o700) === 0o700) chmodSync(path, entry.mode);
      else locked.push({ path, mode: entry.mode });
      return;
    }
    if (segments.length === 0) throw refused(entry.name, "the root is not a folder");
    makeParents(segments);
    if (entry.kind === "file") return writeFile(name, path, entry);
    clear(name, path);
    if (entry.kind === "link") {
      requireDownwards(entry, segments);
      symlinkSync(nameBytes(entry.target), path);
    } else if (entry.kind === "hard-link") {
      const target = withinRoot(segmentsOf(entry.target), options.rootName);
      const from = target && pathIn(into, target.join("/"));
      if (!from || !lstatSync(from, { throwIfNoEntry: false })?.isFile()) {
        throw refused(entry.name, "it is a hard link to something that is not in the archive before it");
      }
      if (target.slice(0, -1).some((_, depth) => !isFolder(into, target.slice(0, depth + 1)))) {
        throw refused(entry.name, "it is a hard link through a link");
      }
      linkSync(from, path);
    } else {
      throw refused(entry.name, "it is a device, a pipe or of an unknown kind");
    }
  }

  try {
    await mkdir(into, { mode: 0o755 });
    const mostBytes = limits.mostBytes + limits.mostEntries * headerBytes;
    for await (const entry of readTar(gunzip(source), { ...limits, mostBytes })) {
      const all = segmentsOf(entry.name);
      const segments = withinRoot(all, options.rootName);
      if (segments) {
        entries += 1;
        bytes += entry.size;
        if (bytes > limits.mostBytes) throw tooLarge(limits.mostBytes);
        await place(entry, segments);
      } else if (options.unrelated === "refuse" && all.length > 0 && all.join("/") !== manifestName) {
        throw refused(entry.name, `only ${options.rootName}/ is expected`);
      }
      const pause = slices.turn();
      if (pause) await pause;
    }
    for (const { path, mode } of locked.reverse()) chmodSync(path, mode);
  } catch (error) {
    throw translate(error);
  }
  return { entries, bytes };
}

function tooLarge(mostBytes: number): ArchiveRefusal {
  return new ArchiveRefusal("too-large", `The archive unpacks to more than ${(mostBytes / 1e6).toFixed(1)} MB.`);
}

/** The rest below the root; null for an entry outside it. */
function withinRoot(segments: readonly RawName[], rootName: string): RawName[] | null {
  return segments[0] === rootName ? segments.slice(1) : null;
}

/** By its words alone; detours over other links are looked at when all of them stand. */
function requireDownwards({ name, target }: FoundEntry, segments: readonly RawName[]): void {
  if (target === "" || target.includes("\0") || target.length > 4_000) throw refused(name, "it is a link to nowhere");
  if (target.startsWith("/")) throw refused(name, "it is a link to an absolute path");
  let depth = segments.length - 1;
  for (const part of target.split("/")) {
    if (part === "" || part === ".") continue;
    depth += part === ".." ? -1 : 1;
    if (depth < 0) throw refused(name, "it is a link that leads out");
  }
}

function isFolder(into: string, segments: readonly RawName[]): boolean {
  return lstatSync(pathIn(into, segments.join("/")), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

const noSpace = ["ENOSPC", "EDQUOT"];
const badNames = ["ENAMETOOLONG", "EINVAL", "EILSEQ", "ELOOP", "EMLINK", "EFBIG"];

function translate(error: unknown): unknown {
  const code = codeOf(error) ?? "";
  if (!isOfFileSystem(error)) return error;
  if (noSpace.includes(code)) return new Problem("unavailable", "The sandbox has no space left.", { cause: error });
  if (badNames.includes(code)) {
    return new Problem("invalid-input", "The archive holds a name or size that cannot be kept here.", { cause: error });
  }
  return error;
}
