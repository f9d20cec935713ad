import { buffer } from "node:stream/consumers";
import { archiveManifest, manifestName } from "../protocol/archive/archive-answers.ts";
import { rawName, writtenName } from "../protocol/archive/raw-name.ts";
import type { FoundEntry } from "../protocol/archive/read-tar.ts";
import type { SnapshotEntry, SnapshotFiles } from "../protocol/snapshots.ts";
import { pathOf, readEntries } from "./read-entries.ts";

const maxListed = 10_000;
const maxManifestBytes = 16 * 1024 ** 2;
const kinds: Record<string, SnapshotEntry["kind"]> = {
  file: "file",
  "hard-link": "file",
  directory: "directory",
  link: "link",
};

/** What a person would find in a workspace snapshot, and what they would miss. Reads all of it: the manifest is last. */
export async function listEntries(archive: AsyncIterable<Uint8Array>): Promise<SnapshotFiles> {
  const entries: SnapshotEntry[] = [];
  const sizes = new Map<string, number>();
  let truncated = false;
  let missing = { leftOut: [] as SnapshotFiles["leftOut"], leftOutCount: 0 };
  for await (const entry of readEntries(archive)) {
    if (entry.name === manifestName) missing = await readLeftOut(entry);
    const path = pathOf(entry.name);
    const kind = kinds[entry.kind];
    if (path === null || !kind) continue;
    truncated = entries.length === maxListed;
    if (truncated) continue;
    // A second name of a file that came before.
    const size = entry.kind === "hard-link" ? (sizes.get(entry.target) ?? 0) : entry.size;
    sizes.set(entry.name, size);
    entries.push({ path, kind, size, modifiedAt: new Date(entry.modifiedAt * 1000).toISOString() });
  }
  return { entries, truncated, ...missing };
}

/** The product's own links are no loss to anybody. A manifest that cannot be read says nothing. */
async function readLeftOut(entry: FoundEntry): Promise<Pick<SnapshotFiles, "leftOut" | "leftOutCount">> {
  const text = entry.size > maxManifestBytes ? "" : (await buffer(entry.body)).toString("utf8");
  const manifest = archiveManifest.safeParse(parseJson(text)).data;
  if (!manifest) return { leftOut: [], leftOutCount: 0 };
  const leftOut = manifest.leftOut.filter(({ reason }) => reason !== "managed-link");
  return {
    leftOut: leftOut.map(({ path, bytes, reason }) => ({
      path: bytes === undefined ? path : writtenName(rawName(Buffer.from(bytes, "base64"))),
      reason,
    })),
    leftOutCount: manifest.leftOutCount - (manifest.leftOut.length - leftOut.length),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
