import { fileSize } from "../file-size.ts";
import { ArchiveRefusal } from "./archive-refusal.ts";
import { type ByteReader, createByteReader } from "./byte-reader.ts";
import { broken, decodeHeader, type TarHeader } from "./decode-header.ts";
import { type PaxRecords, parseRecords } from "./pax-records.ts";
import { type RawName, rawName } from "./raw-name.ts";
import { blockBytes, paddingOf, type TarEntry } from "./tar-entry.ts";

export interface TarLimits {
  /** Of everything unpacked, headers too. */
  maxBytes: number;
  maxEntries: number;
}

/** An entry that exists in the archive, also one of a kind that nobody restores. */
export interface FoundEntry extends Omit<TarEntry, "kind"> {
  kind: TarEntry["kind"] | "other";
  /** As in the archive, for what is `other`. */
  flag: string;
  /** Of a file, while it is the last entry that was asked for. What is not read is skipped. */
  body: AsyncIterable<Buffer>;
  /** All of the body without waiting, instead of reading it; null when it is not all here yet. */
  takeBody(): Buffer | null;
}

export interface TarReader {
  /** The next entry, at once where its header has come; null at the end, when all of the source has been read. */
  next(): FoundEntry | null | Promise<FoundEntry | null>;
}

const maxExtensionBytes = 64 * 1024;
const maxExtensionsInARow = 16;
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
export async function* readTar(source: AsyncIterable<Uint8Array>, limits: TarLimits): AsyncGenerator<FoundEntry> {
  const reader = createTarReader(source, limits);
  for (let entry = await reader.next(); entry; entry = await reader.next()) yield entry;
}

/** As `readTar`, for many small entries: most of them need no waiting. */
export function createTarReader(source: AsyncIterable<Uint8Array>, { maxBytes, maxEntries }: TarLimits): TarReader {
  const reader = createByteReader(source, (total) => {
    if (total > maxBytes) {
      throw new ArchiveRefusal("too-large", `The archive unpacks to more than ${fileSize(maxBytes)}.`);
    }
  });
  let entries = 0;
  /** Of the current entry: all of its body, what was not read of it, and the zeros after it. */
  let bytes = 0;
  let left = 0;
  let padding = 0;

  const body = {
    async *[Symbol.asyncIterator]() {
      for await (const piece of reader.pieces(left)) {
        left -= piece.length;
        yield piece;
      }
    },
  };

  function takeBody(): Buffer | null {
    const whole = left === bytes ? reader.takeNow(bytes) : null;
    if (whole) left = 0;
    return whole;
  }

  function found(header: TarHeader): FoundEntry {
    entries += 1;
    if (entries > maxEntries) {
      throw new ArchiveRefusal("too-large", `The archive has more than ${maxEntries} entries.`);
    }
    const kind = kindOf(header);
    // Like everybody else: only files, and kinds that nobody knows, have a body, whatever the header claims.
    bytes = kind === "file" || kind === "other" ? header.size : 0;
    left = bytes;
    padding = paddingOf(bytes);
    return {
      kind,
      flag: header.flag,
      name: header.name.endsWith("/") ? header.name.replace(/\/+$/, "") : header.name,
      size: kind === "file" ? header.size : 0,
      mode: header.mode,
      modifiedAt: header.modifiedAt,
      target: header.target,
      body,
      takeBody,
    };
  }

  async function nextLater(): Promise<FoundEntry | null> {
    for await (const _skipped of reader.pieces(left + padding));
    const header = await nextHeader(reader);
    if (header) return found(header);
    await reader.drain();
    return null;
  }

  return {
    next() {
      const block = reader.peekNow(left + padding, blockBytes);
      const header = block && decodeHeader(block);
      if (!header || isExtension(header)) return nextLater();
      reader.takeNow(left + padding + blockBytes);
      return found(header);
    },
  };
}

/** The header of the next entry, with what its extensions say; null at the end of the archive. */
async function nextHeader(reader: ByteReader): Promise<TarHeader | null> {
  let records: PaxRecords = {};
  let longName: RawName | null = null;
  let longTarget: RawName | null = null;
  for (let extensions = 0; extensions <= maxExtensionsInARow; extensions += 1) {
    const block = reader.takeNow(blockBytes) ?? (await reader.take(blockBytes));
    if (!block) throw broken("its end is missing");
    const header = decodeHeader(block);
    if (!header) return null;
    if (!isExtension(header)) {
      return {
        ...header,
        name: records.path ?? longName ?? header.name,
        target: records.linkpath ?? longTarget ?? header.target,
        size: records.size ?? header.size,
        modifiedAt: records.mtime ?? header.modifiedAt,
      };
    }
    if (header.size > maxExtensionBytes) throw broken("an extended header is too long");
    const body = (await reader.take(header.size + paddingOf(header.size)))?.subarray(0, header.size);
    if (!body) throw broken("it ends within an entry");
    // Global records are comments in practice: nothing in them is believed.
    if (header.flag === "x") records = { ...records, ...parseRecords(body) };
    if (header.flag === "L") longName = untilZero(body);
    if (header.flag === "K") longTarget = untilZero(body);
  }
  throw broken("it has too many extended headers in a row");
}

function isExtension({ flag }: TarHeader): boolean {
  return "xgLK".includes(flag);
}

function kindOf({ flag, name }: TarHeader): FoundEntry["kind"] {
  const kind = kinds[flag] ?? "other";
  // Old tar knew directories by their name alone.
  return kind === "file" && name.endsWith("/") ? "directory" : kind;
}

function untilZero(body: Buffer): RawName {
  const end = body.indexOf(0);
  return rawName(end === -1 ? body : body.subarray(0, end));
}
