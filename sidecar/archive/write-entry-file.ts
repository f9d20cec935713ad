import { closeSync, constants, fchmodSync, futimesSync, openSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { FoundEntry } from "../../server/protocol/archive/read-tar.ts";

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const smallBytes = 256 * 1024;
const pageBytes = 256 * 1024;
const zeros = Buffer.alloc(pageBytes);

/** Writes one file of an archive at a place where nothing is. Long runs of zeros become holes again. */
export async function writeEntryFile(path: Buffer, entry: FoundEntry): Promise<void> {
  if (entry.size <= smallBytes) return writeSmall(path, entry);
  await using file = await open(path, flags, 0o600);
  await writeLarge(file, entry);
  await file.chmod(entry.mode);
  await file.utimes(entry.modifiedAt, entry.modifiedAt);
}

async function writeSmall(path: Buffer, entry: FoundEntry): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of entry.body) pieces.push(piece);
  const descriptor = openSync(path, flags, 0o600);
  try {
    for (const piece of pieces) {
      for (let start = 0; start < piece.length; ) start += writeSync(descriptor, piece, start);
    }
    fchmodSync(descriptor, entry.mode);
    futimesSync(descriptor, entry.modifiedAt, entry.modifiedAt);
  } finally {
    closeSync(descriptor);
  }
}

async function writeLarge(file: FileHandle, entry: FoundEntry): Promise<void> {
  const page = Buffer.allocUnsafe(pageBytes);
  let used = 0;
  let position = 0;
  async function flush(): Promise<void> {
    const bytes = page.subarray(0, used);
    if (!bytes.equals(zeros.subarray(0, used))) {
      for (let start = 0; start < used; ) {
        start += (await file.write(bytes, start, used - start, position + start)).bytesWritten;
      }
    }
    position += used;
    used = 0;
  }
  for await (const piece of entry.body) {
    for (let start = 0; start < piece.length; ) {
      const copied = piece.copy(page, used, start);
      start += copied;
      used += copied;
      if (used === pageBytes) await flush();
    }
  }
  await flush();
  await file.truncate(entry.size);
}
