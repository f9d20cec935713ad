import { broken } from "./decode-header.ts";
import { type RawName, rawName } from "./raw-name.ts";

/** Those that matter here. */
export interface PaxRecords {
  path?: RawName;
  linkpath?: RawName;
  size?: number;
  mtime?: number;
}

/** Each record is `<length> <key>=<value>\n`, where the length counts all of it. */
export function parseRecords(body: Buffer): PaxRecords {
  const records: PaxRecords = {};
  let position = 0;
  while (position < body.length) {
    const space = body.indexOf(0x20, position);
    const digits = space === -1 ? "" : body.toString("latin1", position, space);
    const length = /^[1-9][0-9]{0,5}$/.test(digits) ? Number(digits) : 0;
    const end = position + length;
    const equals = body.indexOf(0x3d, space);
    if (length === 0 || end > body.length || equals === -1 || equals >= end || body[end - 1] !== 0x0a) {
      throw broken("an extended header cannot be read");
    }
    add(records, body.toString("latin1", space + 1, equals), rawName(body.subarray(equals + 1, end - 1)));
    position = end;
  }
  return records;
}

function add(records: PaxRecords, key: string, value: RawName): void {
  if (key.startsWith("GNU.sparse.")) throw broken("it holds sparse files in a form that is not understood");
  if (key === "path") records.path = value;
  if (key === "linkpath") records.linkpath = value;
  if (key === "size") records.size = sizeOf(value);
  if (key === "mtime" && /^\d{1,12}(\.\d*)?$/.test(value)) records.mtime = Number.parseFloat(value);
}

function sizeOf(value: string): number {
  const size = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw broken("an extended header's size is impossible");
  return size;
}
