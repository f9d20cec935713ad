import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { manifestName } from "../../server/protocol/archive/archive-answers.ts";
import { encodeEntry, endOfArchive } from "../../server/protocol/archive/encode-entry.ts";
import type { RawName } from "../../server/protocol/archive/raw-name.ts";
import { paddingOf } from "../../server/protocol/archive/tar-entry.ts";
import { codeOf, Problem } from "../sidecar-problem.ts";
import { type ArchiveNotes, createArchiveNotes } from "./archive-notes.ts";
import { type BlockPool, createBlockFiller } from "./block-filler.ts";
import { createHardLinks, type TreeLimits } from "./measure-tree.ts";
import { createTimeSlices } from "./time-slices.ts";
import { isOfFileSystem, pathIn, type TreeEntry, type WalkOptions, walkTree } from "./walk-tree.ts";

export interface PackOptions {
  walk: Omit<WalkOptions, "onLeftOut">;
  /** The one top folder of the archive. */
  rootName: string;
  limits: TreeLimits;
  withManifest: boolean;
  /** Files whose content is taken from elsewhere. */
  replaced?: ReadonlyMap<RawName, string>;
  notes?: ArchiveNotes;
  pool: BlockPool;
  signal: AbortSignal;
}

const smallBytes = 256 * 1024;
// Not blocking: what was a file a moment ago may be a pipe now.
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * A directory as a tar stream, in blocks of one size. Files may change while they are read: an entry
 * always has exactly the bytes that its header says, cut or filled up with zeros, and the manifest
 * names it. The caller gives the blocks back to the pool.
 */
export async function* packTree(options: PackOptions): AsyncGenerator<Buffer> {
  const { walk, rootName, limits, replaced, pool, signal, notes = createArchiveNotes() } = options;
  const slices = createTimeSlices(signal);
  const filler = createBlockFiller(pool);
  const hardLinks = createHardLinks();
  const scratch = Buffer.allocUnsafe(smallBytes);
  let entries = 0;
  let bytes = 0;

  function count(size: number): void {
    entries += 1;
    bytes += size;
    if (bytes <= limits.maxBytes && entries <= limits.maxEntries) return;
    throw new Problem("too-large", "The directory grew beyond its limit while it was being archived.");
  }

  function header(entry: TreeEntry, changes: { size?: number; status?: Stats; linkTo?: RawName } = {}): void {
    const { status = entry.status, size = 0, linkTo } = changes;
    count(size);
    notes.packed(size);
    filler.add(
      encodeEntry({
        kind: linkTo === undefined ? entry.kind : "hard-link",
        name: `${rootName}/${entry.name}`,
        size,
        mode: status.mode & 0o777,
        modifiedAt: status.mtimeMs / 1_000,
        target: linkTo === undefined ? entry.target : `${rootName}/${linkTo}`,
      }),
    );
  }

  /** Whole in memory before its header is written, so that both agree. */
  function packSmall(entry: TreeEntry, descriptor: number, status: Stats): void {
    let size = 0;
    while (size < status.size) {
      const read = readSync(descriptor, scratch, size, status.size - size, null);
      if (read === 0) break;
      size += read;
    }
    header(entry, { size, status });
    filler.add(scratch.subarray(0, size));
    filler.zeros(paddingOf(size));
    noteChange(entry.name, status, fstatSync(descriptor));
  }

  async function* packLarge(entry: TreeEntry, file: FileHandle, status: Stats): AsyncGenerator<Buffer> {
    header(entry, { size: status.size, status });
    let left = status.size;
    while (left > 0) {
      signal.throwIfAborted();
      yield* filler.full();
      const space = filler.space(left);
      const { bytesRead } = await file.read(space, 0, space.length, null);
      if (bytesRead === 0) break;
      filler.filled(bytesRead);
      left -= bytesRead;
    }
    for (; left > 0; left -= Math.min(left, smallBytes)) {
      filler.zeros(Math.min(left, smallBytes));
      yield* filler.full();
    }
    filler.zeros(paddingOf(status.size));
    noteChange(entry.name, status, await file.stat());
  }

  function noteChange(name: RawName, before: Stats, after: Stats): void {
    if (after.size < before.size) notes.changed(name, "shrank");
    else if (after.size > before.size) notes.changed(name, "grew");
    else if (after.mtimeMs !== before.mtimeMs) notes.changed(name, "changed");
  }

  async function* packFile(entry: TreeEntry): AsyncGenerator<Buffer> {
    const first = hardLinks.firstName(entry.name, entry.status);
    if (first !== null) return header(entry, { linkTo: first });
    const path = replaced?.get(entry.name) ?? pathIn(walk.root, entry.name);
    const descriptor = openSync(path, readFlags);
    let small = true;
    try {
      const status = fstatSync(descriptor);
      if (!status.isFile()) return notes.leftOut(entry.name, "special-file");
      small = status.size <= smallBytes;
      if (small) packSmall(entry, descriptor, status);
    } finally {
      closeSync(descriptor);
    }
    if (small) return;
    await using file = await open(path, readFlags);
    const status = await file.stat();
    if (status.isFile()) yield* packLarge(entry, file, status);
    else notes.leftOut(entry.name, "special-file");
  }

  filler.add(encodeEntry({ ...topFolder, name: rootName }));
  for (const entry of walkTree({ ...walk, onLeftOut: notes.leftOut })) {
    if (entry.kind !== "file") {
      header(entry);
    } else {
      const before = entries;
      try {
        yield* packFile(entry);
      } catch (error) {
        // Half an entry cannot be taken back.
        if (!isOfFileSystem(error) || entries !== before) throw error;
        notes.leftOut(
          entry.name,
          ["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(error) ?? "") ? "vanished" : "unreadable",
        );
      }
    }
    yield* filler.full();
    const pause = slices.turn();
    if (pause) await pause;
  }
  if (options.withManifest) {
    const manifest = Buffer.from(JSON.stringify(notes.manifest()));
    filler.add(encodeEntry({ ...manifestEntry, modifiedAt: Date.now() / 1_000, size: manifest.length }));
    filler.add(manifest);
    filler.zeros(paddingOf(manifest.length));
  }
  filler.add(endOfArchive);
  yield* filler.full();
  yield* filler.rest();
}

const topFolder = { kind: "directory", size: 0, mode: 0o755, modifiedAt: 0, target: "" } as const;
const manifestEntry = { kind: "file", name: manifestName, mode: 0o644, target: "" } as const;
