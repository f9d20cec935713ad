import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { AppError } from "../errors.ts";
import { archiveRoots } from "../protocol/archive/archive-answers.ts";
import { ArchiveRefusal } from "../protocol/archive/archive-refusal.ts";
import { type RawName, writtenName } from "../protocol/archive/raw-name.ts";
import { type FoundEntry, readTar } from "../protocol/archive/read-tar.ts";
import { workspaceLimits } from "../protocol/limits.ts";

/** Generous: what lies in the store was within the limits once, headers and padding not counted. */
const limits = { maxBytes: 2 * workspaceLimits.maxBytes, maxEntries: 2 * workspaceLimits.maxEntries };
const inside = `${archiveRoots.workspace}/`;

/** All that is in a workspace snapshot, in its order. Leaving early ends the reading too. */
export async function* readEntries(archive: AsyncIterable<Uint8Array>): AsyncGenerator<FoundEntry, void, undefined> {
  const gunzip = createGunzip();
  // Errors reach the reader below; leaving early destroys all of it.
  pipeline(Readable.from(archive), gunzip, () => {});
  try {
    yield* readTar(gunzip, limits);
  } catch (error) {
    if (!(error instanceof ArchiveRefusal)) throw error;
    throw new AppError("upstream", "The snapshot in the file store cannot be read.", { cause: error });
  } finally {
    gunzip.destroy();
  }
}

/** By which a person knows the entry, each its own; null for what is not theirs: the manifest, a repository's own files. */
export function pathOf(name: RawName): string | null {
  if (!name.startsWith(inside) || /^workspace\/\.git(\/|$)/.test(name)) return null;
  return writtenName(name.slice(inside.length));
}
