import { isUtf8Name, nameBytes, type RawName } from "./raw-name.ts";
import { blockBytes, paddingOf, type TarEntry, typeFlags } from "./tar-entry.ts";

const maxNameBytes = 100;
const maxPrefixBytes = 155;
const maxOctalSize = 8 ** 11 - 1;

/** The end of an archive. */
export const endOfArchive = Buffer.alloc(2 * blockBytes);

/** The header of an entry: ustar, preceded by pax records for what does not fit into one. */
export function encodeEntry(entry: TarEntry): Buffer {
  const name = entry.kind === "directory" ? `${entry.name}/` : entry.name;
  const records: [string, RawName][] = [];
  const split = splitName(name);
  if (!split) records.push(["path", name]);
  if (entry.target.length > maxNameBytes) records.push(["linkpath", entry.target]);
  if (entry.size > maxOctalSize) records.push(["size", String(entry.size)]);
  const header = encodeHeader({
    ...(split ?? { prefix: "", name: name.slice(0, maxNameBytes) }),
    flag: typeFlags[entry.kind],
    size: entry.size,
    mode: entry.mode,
    modifiedAt: entry.modifiedAt,
    target: entry.target.slice(0, maxNameBytes),
  });
  return records.length === 0 ? header : Buffer.concat([encodeRecords(records, entry), header]);
}

function encodeRecords(records: [string, RawName][], { modifiedAt }: TarEntry): Buffer {
  // Readers that know it take the bytes as they are; the others do so anyway.
  const binary = records.some(([, value]) => !isUtf8Name(value));
  const all: [string, RawName][] = binary ? [["hdrcharset", "BINARY"], ...records] : records;
  const body = nameBytes(all.map(([key, value]) => encodeRecord(key, value)).join(""));
  const header = encodeHeader({
    prefix: "",
    name: "PaxHeader",
    flag: "x",
    size: body.length,
    mode: 0o644,
    modifiedAt,
    target: "",
  });
  return Buffer.concat([header, body, Buffer.alloc(paddingOf(body.length))]);
}

/** A record begins with its own length, which counts its own digits. */
function encodeRecord(key: string, value: RawName): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`;
}

/** Null when it fits into no header, wherever it is cut. */
function splitName(name: RawName): { prefix: RawName; name: RawName } | null {
  if (name.length <= maxNameBytes) return { prefix: "", name };
  const cut = name.indexOf("/", name.length - maxNameBytes - 1);
  if (cut <= 0 || cut > maxPrefixBytes || cut === name.length - 1) return null;
  return { prefix: name.slice(0, cut), name: name.slice(cut + 1) };
}

interface HeaderFields {
  prefix: RawName;
  name: RawName;
  flag: string;
  size: number;
  mode: number;
  modifiedAt: number;
  target: RawName;
}

function encodeHeader(fields: HeaderFields): Buffer {
  const block = Buffer.alloc(blockBytes);
  block.write(fields.name, 0, "latin1");
  block.write(octal(fields.mode, 8), 100, "latin1");
  // Owners are those of whoever restores.
  block.write(octal(0, 8), 108, "latin1");
  block.write(octal(0, 8), 116, "latin1");
  if (fields.size <= maxOctalSize) block.write(octal(fields.size, 12), 124, "latin1");
  else writeBase256(block, fields.size);
  block.write(octal(Math.min(Math.max(0, Math.floor(fields.modifiedAt)), maxOctalSize), 12), 136, "latin1");
  block.write("        ", 148, "latin1");
  block.write(fields.flag, 156, "latin1");
  block.write(fields.target, 157, "latin1");
  block.write("ustar\0" + "00", 257, "latin1");
  block.write(fields.prefix, 345, "latin1");
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, "0")}\0`;
}

function writeBase256(block: Buffer, size: number): void {
  block.writeUInt8(0x80, 124);
  block.writeBigUInt64BE(BigInt(size), 128);
}
