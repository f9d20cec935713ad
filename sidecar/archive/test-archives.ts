import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import type { ArchiveManifest } from "../../server/protocol/archive/archive-answers.ts";
import { encodeEntry, endOfArchive } from "../../server/protocol/archive/encode-entry.ts";
import { rawNameOf } from "../../server/protocol/archive/raw-name.ts";
import { paddingOf, type TarEntry } from "../../server/protocol/archive/tar-entry.ts";
import { type ArchiveNotes, createArchiveNotes } from "./archive-notes.ts";
import { createBlockPool } from "./block-filler.ts";
import { gzipBlocks } from "./gzip-blocks.ts";
import { type PackOptions, packTree } from "./pack-tree.ts";
import { restoreDirectory } from "./restore-directory.ts";

export const run = promisify(execFile);
export const limits = { maxBytes: 4e9, maxEntries: 1_000_000 };

export async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "dm-archive-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function packed(root: string, changes: Partial<PackOptions> = {}): AsyncGenerator<Buffer> {
  const pool = createBlockPool();
  const signal = AbortSignal.timeout(600_000);
  const options = { walk: { root }, rootName: "workspace", limits, withManifest: true, pool, signal, ...changes };
  return gzipBlocks(packTree(options), pool);
}

export async function packInto(
  file: string,
  root: string,
  changes: Partial<PackOptions> = {},
): Promise<ArchiveManifest> {
  const notes: ArchiveNotes = changes.notes ?? createArchiveNotes();
  await writeFile(file, packed(root, { ...changes, notes }));
  return notes.manifest();
}

export function restoreFrom(
  file: string | Buffer,
  directory: string,
  changes: Partial<Parameters<typeof restoreDirectory>[0]> = {},
) {
  return restoreDirectory({
    source: typeof file === "string" ? createReadStream(file) : chunksOf(file),
    directory,
    rootName: "workspace",
    unrelated: "refuse",
    limits,
    signal: AbortSignal.timeout(600_000),
    ...changes,
  });
}

export async function* chunksOf(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

export type MadeEntry = Partial<Omit<TarEntry, "name">> & {
  name: string;
  content?: string | Buffer;
  /** Changes the header after it was made; its checksum is made right again. */
  header?(block: Buffer): void;
};

/** An archive of exactly these entries, whatever they are. */
export function archiveOf(entries: readonly MadeEntry[]): Buffer {
  return gzipSync(Buffer.concat([...entries.map(bytesOf), endOfArchive]));
}

export function bytesOf({ name, content = "", header, ...entry }: MadeEntry): Buffer {
  const body = Buffer.from(content);
  const made = {
    kind: "file",
    mode: 0o644,
    modifiedAt: 1_700_000_000,
    target: "",
    size: body.length,
    ...entry,
  } as const;
  const block = encodeEntry({ ...made, name: rawNameOf(name) });
  header?.(block.subarray(-512));
  if (header) sumUp(block.subarray(-512));
  return Buffer.concat([block, body, Buffer.alloc(paddingOf(body.length))]);
}

export function sumUp(block: Buffer): void {
  block.write("        ", 148, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
}
