import { setTimeout as sleep } from "node:timers/promises";
import type { LeftOutReason } from "../../server/protocol/archive/archive-answers.ts";
import { ArchiveRefusal } from "../../server/protocol/archive/archive-refusal.ts";
import type { RawName } from "../../server/protocol/archive/raw-name.ts";
import { Problem } from "../problem.ts";
import { refused } from "./entry-place.ts";
import { type Extracted, type ExtractOptions, extractArchive } from "./extract-archive.ts";
import { measureTree, type TreeMeasure } from "./measure-tree.ts";
import { removeTree } from "./remove-tree.ts";
import { setAside } from "./set-aside.ts";
import { type Reach, stagingOf, swapDirectory } from "./swap-directory.ts";

/** Longer than a tick of the file system's clock: what is written from now on has a later time. */
const tick = 30;

export interface RestoreOptions extends Omit<ExtractOptions, "into"> {
  /** Replaced by the root of the archive. */
  directory: string;
  /** A last look at what would be swapped in. May change it. */
  inspect?(staged: string): Promise<void>;
  /** Where what is replaced is kept instead of being removed. Killed in between, nothing is in its place. */
  keepIn?: string | null;
  reach?: Reach;
}

/** The archive as the directory, whole; or the directory as it was, and a reason thrown. */
export async function restoreDirectory(options: RestoreOptions): Promise<Extracted & { fingerprint: string }> {
  const { directory, inspect, keepIn, reach, ...extract } = options;
  const staged = stagingOf(directory);
  await removeTree(staged);
  try {
    const extracted = await extractArchive({ ...extract, into: staged });
    await sleep(tick);
    let { fingerprint } = await measureInside(staged, extract.signal);
    if (inspect) {
      await inspect(staged);
      await sleep(tick);
      ({ fingerprint } = await measureInside(staged, extract.signal));
    }
    if (keepIn) await setAside(directory, keepIn);
    await swapDirectory(directory, reach);
    return { ...extracted, fingerprint };
  } catch (error) {
    throw error instanceof ArchiveRefusal ? new Problem(error.kind, error.message) : error;
  } finally {
    await removeTree(staged);
  }
}

/** Refuses links that lead out by detours over each other, which none of them shows by itself. */
function measureInside(staged: string, signal: AbortSignal): Promise<TreeMeasure> {
  const walk = {
    root: staged,
    onLeftOut(name: RawName, reason: LeftOutReason) {
      if (reason === "link-leads-out") throw refused(name, "it is a link that leads out over others");
    },
  };
  return measureTree(walk, signal);
}
