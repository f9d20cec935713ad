import { ArchiveRefusal } from "./archive-refusal.ts";
import { type ByteReader, createByteReader } from "./byte-reader.ts";
import { broken, decodeHeader, type TarHeader } from "./decode-header.ts";
import { type PaxRecords, parseRecords } from "./pax-records.ts";
import { type RawName, rawName } from "./raw-name.ts";
import { blockBytes, paddingOf, type TarEntry } from "./tar-entry.ts";

export interface TarLimits {
  /** Of everything unpacked, headers too. */
  mostBytes: number;
  mostEntries: number;
}

/** An entry that exists in the archive, also one of a kind that nobody restores. */
export interface FoundEntry extends Omit<TarEntry, "kind"> {
  kind: TarEntry["kind"] | "other";
  /** As in the archive, for what is `other`. */
  flag: string;
  /** Of a file. What is not read is skipped. */
  body: AsyncIterable<Buffer>;
  /** All of the body without waiting, instead of reading it; null when it is not all here yet. */
  takeBody(): Buffer | null;
}

const mostExtensionBytes = 64 * 1024;
const mostExtensionsInARow = 16;
const kinds: Record<string, TarEntry["kind"]> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "hard-link",
  "2": "link",
  "5": "directory",
};

/**
 * Reads an archive that anybody may have made: ustar, pax, GNU's long names and old tar. It vouches
 * for nothing but the form; where an entry may go is for the caller to say. Throws ArchiveRefusal.
 */
export async function* readTar(
  source: AsyncIterable<Uint8Array>,
  { mostBytes, mostEntries }: TarLimits,
): AsyncGenerator<FoundEntry> {
  const reader = createByteReader(source, (total) => {
    if (total > mostBytes) {
      throw new ArchiveRefusal("too-large", `The archive unpacks to more than ${Math.round(mostBytes / 1e6)} MB.`);
    }
  });
  let entries = 0;
  for (;;) {
    const header = await nextHeader(reader);
    if (!header) break;
    entries += 1;
    if (entries > mostEntries) {
      throw new ArchiveRefusal("too-large", `The archive has more than ${mostEntries} entries.`);
    }
    const entry = entryOf(header);
    // Like everybody else: only files, and kinds that nobody knows, have a body, whatever the header claims.
    const bytes = entry.kind === "file" || entry.kind === "other" ? header.size : 0;
    let left = bytes;
    const body = async function* () {
      for await (const piece of reader.pieces(left)) {
        left -= piece.length;
        yield piece;
      }
    };
    const takeBody = () => {
      const whole = left === bytes ? reader.takeNow(bytes) : null;
      if (whole) left = 0;
      return whole;
    };
    yield { ...entry, body: { [Symbol.asyncIterator]: body }, takeBody };
    const unread = left + paddingOf(bytes);
    if (!reader.takeNow(unread)) for await (const _skipped of reader.pieces(unread));
  }
  await reader.drain();
}

/** The header of the next entry, with what its extensions say; null at the end of the archive. */
async function nextHeader(reader: ByteReader): Promise<TarHeader | null> {
  let records: PaxRecords = {};
  let longName: RawName | null = null;
  let longTarget: RawName | null = null;
  for (let extensions = 0; extensions <= mostExtensionsInARow; extensions += 1) {
    const block = reader.takeNow(blockBytes) ?? (await reader.take(blockBytes));
    if (!block) throw broken("its end is missing");
    const header = decodeHeader(block);
    if (!header) return null;
    if (!"xgLK".includes(header.flag)) {
      return {
        ...header,
        name: records.path ?? longName ?? header.name,
        target: records.linkpath ?? longTarget ?? header.target,
        size: records.size ?? header.size,
        modifiedAt: records.mtime ?? header.modifiedAt,
      };
    }
    if (header.size > mostExtensionBytes) throw broken("an extended header is too long");
    const body = (await reader.take(header.size)) ?? Buffer.alloc(0);
    if (body.length < header.size) throw broken("it ends within an entry");
    if (header.size > 0) await reader.take(paddingOf(header.size));
    // Global records are comments in practice: nothing in them is believed.
    if (header.flag === "x") records = { ...records, ...parseRecords(body) };
    if (header.flag === "L") longName = untilZero(body);
    if (header.flag === "K") longTarget = untilZero(body);
  }
  throw broken("it has too many extended headers in a row");
}

function entryOf({ flag, ...header }: TarHeader): Omit<FoundEntry, "body" | "takeBody"> {
  // Old tar knew directories by their name alone.
  const kind = kinds[flag] === "file" && header.name.endsWith("/") ? "directory" : (kinds[flag] ?? "other");
  const size = kind === "file" ? header.size : 0;
  return { ...header, name: header.name.replace(/\/+$/, ""), flag, kind, size };
}

function untilZero(body: Buffer): RawName {
  const end = body.indexOf(0);
  return rawName(end === -1 ? body : body.subarray(0, end));
}
