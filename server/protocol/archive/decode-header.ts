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
  const sum = checksumOf(block);
  if (sum.unsigned === 8 * 32 && block.every((byte) => byte === 0)) return null;
  const stored = octalField(block, 148, 8, "checksum");
  if (stored !== sum.unsigned && stored !== sum.signed) throw broken("a header's checksum is wrong");
  const name = textField(block, 0, 100);
  // GNU's own format has other things where POSIX has the prefix.
  const prefix = block.toString("latin1", 257, 263) === "ustar\0" ? textField(block, 345, 155) : "";
  return {
    name: prefix ? `${prefix}/${name}` : name,
    flag: block.toString("latin1", 156, 157),
    size: sizeField(block),
    mode: octalField(block, 100, 8, "mode") & 0o777,
    modifiedAt: timeField(block),
    target: textField(block, 157, 100),
  };
}

/** Both ways of summing up: old programs took bytes for signed. */
function checksumOf(block: Buffer): { unsigned: number; signed: number } {
  let unsigned = 0;
  let signed = 0;
  for (let index = 0; index < blockBytes; index += 1) {
    const byte = index >= 148 && index < 156 ? 32 : (block[index] ?? 0);
    unsigned += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  return { unsigned, signed };
}

function textField(block: Buffer, start: number, length: number): RawName {
  const end = block.indexOf(0, start);
  return block.toString("latin1", start, end === -1 || end > start + length ? start + length : end);
}

function octalField(block: Buffer, start: number, length: number, what: string): number {
  const text = block
    .toString("latin1", start, start + length)
    .replace(/\0.*$/s, "")
    .trim();
  if (!/^[0-7]*$/.test(text)) throw broken(`a header's ${what} is not a number`);
  return text === "" ? 0 : Number.parseInt(text, 8);
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
  if (((block[136] ?? 0) & 0x80) !== 0) return 0;
  const text = block.toString("latin1", 136, 148).replace(/\0.*$/s, "").trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : 0;
}

export function broken(reason: string): ArchiveRefusal {
  return new ArchiveRefusal("invalid-input", `The archive is damaged: ${reason}.`);
}
