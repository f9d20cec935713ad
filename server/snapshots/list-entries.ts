import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { AppError } from "../errors.ts";
import { archiveRoots } from "../protocol/archive/archive-answers.ts";
import { ArchiveRefusal } from "../protocol/archive/archive-refusal.ts";
import { shownName } from "../protocol/archive/raw-name.ts";
import { readTar } from "../protocol/archive/read-tar.ts";
import type { SnapshotEntry } from "./index.ts";

const mostListed = 2_000;
const limits = { mostBytes: 8 * 1024 ** 3, mostEntries: 1_000_000 };
const inside = `${archiveRoots.workspace}/`;
const kinds: Record<string, SnapshotEntry["kind"]> = {
  file: "file",
  "hard-link": "file",
  directory: "directory",
  link: "link",
};

/** What a person would find in a workspace snapshot; the repository's own files are left out. */
export async function listEntries(
  archive: AsyncIterable<Uint8Array>,
): Promise<{ entries: SnapshotEntry[]; truncated: boolean }> {
  const gunzip = createGunzip();
  // Errors reach the reader below; leaving early destroys all of it.
  pipeline(Readable.from(archive), gunzip, () => {});
  const entries: SnapshotEntry[] = [];
  try {
    for await (const { name, kind, size, modifiedAt } of readTar(gunzip, limits)) {
      const known = kinds[kind];
      if (!known || !name.startsWith(inside) || /^workspace\/\.git(\/|$)/.test(name)) continue;
      if (entries.length === mostListed) return { entries, truncated: true };
      const path = shownName(name.slice(inside.length));
      entries.push({ path, kind: known, size, modifiedAt: new Date(modifiedAt * 1000).toISOString() });
    }
  } catch (error) {
    if (!(error instanceof ArchiveRefusal)) throw error;
    throw new AppError("upstream", "The snapshot in the file store cannot be read.", { cause: error });
  } finally {
    gunzip.destroy();
  }
  return { entries, truncated: false };
}
