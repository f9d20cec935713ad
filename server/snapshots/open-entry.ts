import { Readable } from "node:stream";
import { AppError } from "../errors.ts";
import { type RawName, writtenName } from "../protocol/archive/raw-name.ts";
import type { FoundEntry } from "../protocol/archive/read-tar.ts";
import { shownName } from "../protocol/shown-name.ts";
import type { SnapshotFile } from "./index.ts";
import { pathOf, readEntries } from "./read-entries.ts";

type OpenArchive = () => Promise<AsyncIterable<Uint8Array>>;

/**
 * One file of a snapshot by its path, which has to be one that the archive itself names. The archive is
 * read up to it, and streamed: memory does not grow with either.
 */
export async function openEntry(open: OpenArchive, path: string): Promise<SnapshotFile> {
  const found = await find(open, (name) => pathOf(name) === path);
  if (found?.entry.kind !== "hard-link") return requireFile(found);
  // The body of a file of several names stands at the first, which lies behind us.
  await found.leave();
  return requireFile(await find(open, (name) => name === found.entry.target));
}

interface Found {
  entry: FoundEntry;
  /** Nothing more is read. */
  leave(): Promise<unknown>;
}

async function find(open: OpenArchive, isWanted: (name: RawName) => boolean): Promise<Found | null> {
  const entries = readEntries(await open());
  for (;;) {
    const { value: entry, done } = await entries.next();
    if (done) return null;
    if (isWanted(entry.name)) return { entry, leave: () => entries.return() };
  }
}

async function requireFile(found: Found | null): Promise<SnapshotFile> {
  if (found?.entry.kind === "file") {
    const { entry, leave } = found;
    const body = Readable.from(entry.body, { objectMode: false });
    // Also when nobody has begun to read.
    body.once("close", () => void leave());
    return { size: entry.size, modifiedAt: new Date(entry.modifiedAt * 1000), body };
  }
  await found?.leave();
  if (found?.entry.kind === "link") {
    throw new AppError("invalid-input", `This is a link to ${shownName(writtenName(found.entry.target))}.`);
  }
  if (found) throw new AppError("invalid-input", "This is not a file.");
  throw new AppError("not-found", "There is no such file in this snapshot.");
}
