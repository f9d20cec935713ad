import { ArchiveRefusal } from "./archive-refusal.ts";
import type { RawName } from "./raw-name.ts";
import { blockBytes } from "./tar-entry.ts";

/** One header block as it stands, before what extended headers say about it. */
export interface TarHeader {
  name: RawName;
  flag: string;
  size: number;
  mode: number;
  modifiedAt: number;
  target: RawName;
}

/** Null for a block of zeros, which ends the archive. */
export function decodeHeader(block: Buffer): TarHeader | null {
  const { unsigned, signed } = checksumOf(block);
  if (unsigned === 8 * space && block.every((byte) => byte === 0)) return null;
  const stored = octalField(block, 148, 8, "checksum");
  if (stored !== unsigned && stored !== signed) throw broken("a header's checksum is wrong");
  const name = textField(block, 0, 100);
  // GNU's own format has other things where POSIX has the prefix.
  const prefix = block[262] === 0 && block.toString("latin1", 257, 262) === "ustar" ? textField(block, 345, 155) : "";
  return {
    name: prefix ? `${prefix}/${name}` : name,
    flag: String.fromCharCode(block[156] ?? 0),
    size: sizeField(block),
    mode: octalField(block, 100, 8, "mode") & 0o777,
    modifiedAt: timeField(block),
    target: textField(block, 157, 100),
  };
}

const space = 32;

/** Both ways of summing up: old programs took bytes for signed. The field itself counts as spaces. */
function checksumOf(block: Buffer): { unsigned: number; signed: number } {
  let unsigned = 0;
  let negative = 0;
  for (let index = 0; index < blockBytes; index += 1) {
    const byte = block[index] as number;
    unsigned += byte;
    negative += byte >> 7;
  }
  for (let index = 148; index < 156; index += 1) {
    const byte = block[index] as number;
    unsigned += space - byte;
    negative -= byte >> 7;
  }
  return { unsigned, signed: unsigned - 256 * negative };
}

function textField(block: Buffer, start: number, length: number): RawName {
  if (block[start] === 0) return "";
  const end = block.indexOf(0, start);
  return block.toString("latin1", start, end === -1 || end > start + length ? start + length : end);
}

function octalField(block: Buffer, start: number, length: number, what: string): number {
  const number = octalNumber(block, start, start + length);
  if (number === null) throw broken(`a header's ${what} is not a number`);
  return number;
}

/** Digits between spaces, up to a zero byte or the end; 0 where there are none, null where it is something else. */
function octalNumber(block: Buffer, start: number, end: number): number | null {
  let number = 0;
  let at = start;
  while (at < end && block[at] === space) at += 1;
  for (; at < end; at += 1) {
    const digit = (block[at] ?? 0) - 48;
    if (digit < 0 || digit > 7) break;
    number = number * 8 + digit;
  }
  while (at < end && block[at] === space) at += 1;
  return at === end || block[at] === 0 ? number : null;
}

function sizeField(block: Buffer): number {
  if (((block[124] ?? 0) & 0x80) === 0) return octalField(block, 124, 12, "size");
  // Base 256: a marking bit, then a big-endian number; the others mark a negative one.
  const high = block.readUInt32BE(124) & 0x7fffffff;
  const size = block.readBigUInt64BE(128);
  if (high !== 0 || size > BigInt(Number.MAX_SAFE_INTEGER)) throw broken("a header's size is impossible");
  return Number(size);
}

/** A time that cannot be read is no reason to lose the file. */
function timeField(block: Buffer): number {
  return octalNumber(block, 136, 148) ?? 0;
}

export function broken(reason: string): ArchiveRefusal {
  return new ArchiveRefusal("invalid-input", `The archive is damaged: ${reason}.`);
}
