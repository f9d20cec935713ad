import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { manifestName } from "../../server/protocol/archive/archive-answers.ts";
import { ArchiveRefusal } from "../../server/protocol/archive/archive-refusal.ts";
import { createTarReader } from "../../server/protocol/archive/read-tar.ts";
import { fileSize } from "../../server/protocol/file-size.ts";
import { codeOf, Problem } from "../sidecar-problem.ts";
import { refused, segmentsOf } from "./entry-place.ts";
import { gunzip } from "./gunzip.ts";
import type { TreeLimits } from "./measure-tree.ts";
import { createEntryPlaces } from "./place-entries.ts";
import { createTimeSlices } from "./time-slices.ts";
import { isOfFileSystem } from "./walk-tree.ts";

export interface ExtractOptions {
  /** Gzip; read to its end unless the archive is refused. */
  source: AsyncIterable<Uint8Array>;
  /** Made here; must not exist. What is in it after a failure is the caller's to remove. */
  into: string;
  rootName: string;
  /** What to do with entries outside the root: a workspace refuses, the history ignores (ARCHITECTURE.md, invariant 4). */
  unrelated: "refuse" | "ignore";
  limits: TreeLimits;
  signal: AbortSignal;
}

/** What an entry may take beside its content, on average. */
const headerBytes = 2_048;

/** As many as this thread and the one that writes files. */
const hasFewCores = availableParallelism() <= 2;

export interface Extracted {
  entries: number;
  bytes: number;
  /** Null where only a walk can tell it: with links, or for archives that are not in its order. */
  fingerprint: string | null;
}

/** Unpacks an archive that nobody vouches for into a new directory (ARCHITECTURE.md, invariant 18). */
export async function extractArchive(options: ExtractOptions): Promise<Extracted> {
  const { source, into, rootName, unrelated, limits, signal } = options;
  const slices = createTimeSlices(signal);
  const places = createEntryPlaces({ into, rootName });
  let entries = 0;
  let bytes = 0;
  const unpacked = gunzip(source, () => places.isBusy && hasFewCores);
  try {
    await mkdir(into, { mode: 0o755 });
    const maxBytes = limits.maxBytes + limits.maxEntries * headerBytes;
    const reader = createTarReader(unpacked, { ...limits, maxBytes });
    for (;;) {
      const next = reader.next();
      const entry = next instanceof Promise ? await next : next;
      if (!entry) break;
      const name = places.find(entry.name);
      if (name !== null) {
        entries += 1;
        bytes += entry.size;
        if (bytes > limits.maxBytes) throw tooLarge(limits.maxBytes);
        const placing = places.place(entry, name);
        if (placing) await placing;
      } else if (unrelated === "refuse" && !["", manifestName].includes(segmentsOf(entry.name).join("/"))) {
        throw refused(entry.name, `only ${rootName}/ is expected`);
      }
      const pause = slices.turn();
      if (pause) await pause;
    }
    return { entries, bytes, fingerprint: await places.finish() };
  } catch (error) {
    throw translate(error);
  } finally {
    await places.close();
    await unpacked.return(undefined);
  }
}

function tooLarge(maxBytes: number): ArchiveRefusal {
  return new ArchiveRefusal("too-large", `The archive unpacks to more than ${fileSize(maxBytes)}.`);
}

const noSpace = ["ENOSPC", "EDQUOT"];
const badNames = ["ENAMETOOLONG", "EINVAL", "EILSEQ", "ELOOP", "EMLINK", "EFBIG"];

function translate(error: unknown): unknown {
  const code = codeOf(error) ?? "";
  if (!isOfFileSystem(error)) return error;
  if (noSpace.includes(code)) return new Problem("unavailable", "The sandbox has no space left.", { cause: error });
  if (badNames.includes(code)) {
    return new Problem("invalid-input", "The archive holds a name or size that cannot be kept here.", { cause: error });
  }
  return error;
}
