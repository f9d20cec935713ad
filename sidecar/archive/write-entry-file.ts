import { closeSync, constants, fchmodSync, futimesSync, openSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { FoundEntry } from "../../server/protocol/archive/read-tar.ts";

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const smallBytes = 256 * 1024;
const holeBytes = 64 * 1024;
const zeros = Buffer.alloc(holeBytes);

/**
 * Writes one file of an archive at a place where nothing is; throws EEXIST, with nothing read of the entry, when
 * something is. Long runs of zeros become holes again.
 */
export async function writeEntryFile(path: Buffer, entry: FoundEntry): Promise<void> {
  if (entry.size <= smallBytes) return writeSmall(path, entry);
  await using file = await open(path, flags, 0o600);
  await writeLarge(file, entry);
  await file.chmod(entry.mode);
  await file.utimes(entry.modifiedAt, entry.modifiedAt);
}

async function writeSmall(path: Buffer, entry: FoundEntry): Promise<void> {
  const descriptor = openSync(path, flags, 0o600);
  try {
    const whole = entry.takeBody();
    if (whole) writeAll(descriptor, whole);
    else for await (const piece of entry.body) writeAll(descriptor, piece);
    fchmodSync(descriptor, entry.mode);
    futimesSync(descriptor, entry.modifiedAt, entry.modifiedAt);
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let start = 0; start < bytes.length; ) start += writeSync(descriptor, bytes, start);
}

/** Pieces are written as they come; what of them is left out are pages of zeros. */
async function writeLarge(file: FileHandle, entry: FoundEntry): Promise<void> {
  let position = 0;
  for await (const piece of entry.body) {
    for (const { start, end } of spansOf(piece)) await writeSpan(file, piece.subarray(start, end), position + start);
    position += piece.length;
  }
  await file.truncate(entry.size);
}

async function writeSpan(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let start = 0; start < bytes.length; ) {
    start += (await file.write(bytes, start, bytes.length - start, position + start)).bytesWritten;
  }
}

/** What lies between the holes. */
function* spansOf(piece: Buffer): Generator<{ start: number; end: number }> {
  let start = 0;
  for (let at = 0; at < piece.length; at += holeBytes) {
    const end = Math.min(at + holeBytes, piece.length);
    if (!piece.subarray(at, end).equals(zeros.subarray(0, end - at))) continue;
    if (start < at) yield { start, end: at };
    start = end;
  }
  if (start < piece.length) yield { start, end: piece.length };
}
