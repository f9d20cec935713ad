import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  openSync,
  type Stats,
  write,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import type { FoundEntry } from "../../server/protocol/archive/read-tar.ts";
import type { PathOfName } from "./walk-tree.ts";

/** Nothing is replaced, and no link followed. */
export const fileFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Files up to here are written whole. */
export const smallBytes = 256 * 1024;
/** Files from here on are written by the thread pool: the system makes their writer wait for the disk. */
const hugeBytes = 64 * 1024 * 1024;
const holeBytes = 64 * 1024;
const zeros = Buffer.alloc(holeBytes);
const writeAt = promisify(write);

/**
 * Writes one file of an archive where nothing is yet; throws EEXIST, with nothing read of the entry, when
 * something is. Long runs of zeros become holes again. Gives the file's status, at once where its bytes are here.
 */
export function writeEntryFile(path: PathOfName, entry: FoundEntry): Stats | Promise<Stats> {
  const descriptor = openSync(path, fileFlags, entry.mode);
  const whole = entry.size <= smallBytes ? entry.takeBody() : null;
  if (!whole) return writeLater(descriptor, entry);
  try {
    writeAll(descriptor, whole);
    return finish(descriptor, entry);
  } finally {
    closeSync(descriptor);
  }
}

async function writeLater(descriptor: number, entry: FoundEntry): Promise<Stats> {
  try {
    if (entry.size <= smallBytes) for await (const piece of entry.body) writeAll(descriptor, piece);
    else await writeLarge(descriptor, entry);
    return finish(descriptor, entry);
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let start = 0; start < bytes.length; ) start += writeSync(descriptor, bytes, start);
}

function finish(descriptor: number, { mode, modifiedAt }: FoundEntry): Stats {
  futimesSync(descriptor, modifiedAt, modifiedAt);
  const status = fstatSync(descriptor);
  if ((status.mode & 0o777) === mode) return status;
  // The umask of this process had its say.
  fchmodSync(descriptor, mode);
  return fstatSync(descriptor);
}

/** What is left out of the pieces are pages of zeros. */
async function writeLarge(descriptor: number, entry: FoundEntry): Promise<void> {
  const writeSpan = entry.size > hugeBytes ? writeAside : writeHere;
  let position = 0;
  for await (const piece of entry.body) {
    for (const { start, end } of spansOf(piece)) {
      for (let at = start; at < end; ) at += await writeSpan(descriptor, piece, at, end - at, position + at);
    }
    position += piece.length;
  }
  ftruncateSync(descriptor, entry.size);
}

const writeHere = writeSync;

async function writeAside(...where: [number, Buffer, number, number, number]): Promise<number> {
  return (await writeAt(...where)).bytesWritten;
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
