import { randomFillSync } from "node:crypto";
import { copyFile, mkdir, open, readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

const megabyte = 1024 * 1024;
const modules = resolve(import.meta.dirname, "../../node_modules");

/** Real sources: those of the packages that this clone has installed, in their folders. */
export async function makeSource(root: string, megabytes: number): Promise<void> {
  let copied = 0;
  for (const from of await listModules(/\.(js|mjs|ts|css|md|json)$/)) {
    const to = join(root, from.slice(modules.length).replaceAll("node_modules", "modules"));
    await mkdir(dirname(to), { recursive: true });
    await copyFile(from, to);
    copied += (await stat(to)).size;
    if (copied >= megabytes * megabyte) return;
  }
}

/**
 * Of 20 files 8 are pieces of the programs and libraries that this clone has installed, 6 cannot be
 * compressed (like pictures, films and archives), 3 are 32-bit weights and 3 tables of records.
 */
export async function makeBinary(root: string, megabytes: number): Promise<void> {
  await mkdir(root, { recursive: true });
  await using programs = piecesOfPrograms();
  for (let index = 0; index * 4 < megabytes; index += 1) {
    const bytes = Math.min(4, megabytes - index * 4) * megabyte;
    const position = index % 20;
    const content =
      position < 8
        ? ((await programs.next()).value as Buffer).subarray(0, bytes)
        : position < 14
          ? randomFillSync(Buffer.alloc(bytes))
          : position < 17
            ? weights(bytes)
            : records(bytes);
    await writeFile(join(root, `${index}.bin`), content);
  }
}

async function* piecesOfPrograms(): AsyncGenerator<Buffer> {
  const paths = await listModules(/^[^.]+$|\.(node|exe|so[.\d]*)$/);
  for (;;) {
    for (const path of paths) {
      await using file = await open(path);
      const { size } = await file.stat();
      const start = Buffer.alloc(4);
      await file.read(start, 0, 4, 0);
      if (size < 4 * megabyte || start.toString("latin1") !== "\x7fELF") continue;
      for (let at = 0; at + 4 * megabyte <= size; at += 4 * megabyte) {
        const piece = Buffer.alloc(4 * megabyte);
        await file.read(piece, 0, piece.length, at);
        yield piece;
      }
    }
  }
}

function weights(bytes: number): Buffer {
  const numbers = new Float32Array(bytes / 4);
  for (let index = 0; index < numbers.length; index += 1) {
    numbers[index] = (Math.random() + Math.random() + Math.random() - 1.5) * 0.1;
  }
  return Buffer.from(numbers.buffer);
}

/** A number, a time, a measure, a choice of five and some room, in 32 bytes. */
function records(bytes: number): Buffer {
  const table = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += 32) {
    table.writeUInt32LE(at >>> 5, at);
    table.writeDoubleLE(1.7e12 + at * 31 + Math.floor(Math.random() * 900), at + 4);
    table.writeDoubleLE(Math.round(Math.random() * 1e6) / 1_000, at + 12);
    table.writeUInt8(Math.floor(Math.random() * 5), at + 20);
  }
  return table;
}

async function listModules(name: RegExp): Promise<string[]> {
  const entries = await readdir(modules, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && name.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name));
}
