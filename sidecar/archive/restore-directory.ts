import { setTimeout as sleep } from "node:timers/promises";
import type { LeftOutReason } from "../../server/protocol/archive/archive-answers.ts";
import { ArchiveRefusal } from "../../server/protocol/archive/archive-refusal.ts";
import type { RawName } from "../../server/protocol/archive/raw-name.ts";
import { Problem } from "../sidecar-problem.ts";
import { refused } from "./entry-place.ts";
import { type Extracted, type ExtractOptions, extractArchive } from "./extract-archive.ts";
import { measureTree, steadyMilliseconds, type TreeMeasure } from "./measure-tree.ts";
import { removeTree } from "./remove-tree.ts";
import { setAside } from "./set-aside.ts";
import { type Reach, stagingOf, swapDirectory } from "./swap-directory.ts";

/** What is written from then on has a later time, also by the file system's clock. */
const tick = steadyMilliseconds + 2;

export interface RestoreOptions extends Omit<ExtractOptions, "into"> {
  /** Replaced by the root of the archive. */
  directory: string;
  /** A last look at what would be swapped in. May change it, and says so. */
  inspect?(staged: string): Promise<{ isUntouched: boolean }>;
  /** Where what is replaced is kept instead of being removed. Killed in between, nothing is in its place. */
  keepIn?: string | null;
  reach?: Reach;
}

export interface Restored extends Extracted {
  fingerprint: string;
}

/** The archive as the directory, whole; or the directory as it was, and a reason thrown. */
export async function restoreDirectory(options: RestoreOptions): Promise<Restored> {
  const { directory, inspect, keepIn, reach, ...extract } = options;
  const staged = stagingOf(directory);
  await removeTree(staged);
  try {
    const extracted = await extractArchive({ ...extract, into: staged });
    if (inspect && extracted.fingerprint === null) await measureInside(staged, extract.signal);
    const { isUntouched } = (await inspect?.(staged)) ?? { isUntouched: true };
    const told = isUntouched ? extracted.fingerprint : null;
    const fingerprint = told ?? (await measureOnceSteady(staged, extract.signal));
    if (keepIn) await setAside(directory, keepIn);
    await swapDirectory(directory, reach);
    return { ...extracted, fingerprint };
  } catch (error) {
    throw error instanceof ArchiveRefusal ? new Problem(error.kind, error.message) : error;
  } finally {
    await removeTree(staged);
  }
}

async function measureOnceSteady(staged: string, signal: AbortSignal): Promise<string> {
  await sleep(tick);
  return (await measureInside(staged, signal)).fingerprint;
}

/** Refuses links that lead out by detours over each other, which none of them shows by itself. */
function measureInside(staged: string, signal: AbortSignal): Promise<TreeMeasure> {
  const walk = {
    root: staged,
    onLeftOut(name: RawName, reason: LeftOutReason) {
      if (reason === "link-leads-out") throw refused(name, "it is a link that points outside over others");
    },
  };
  return measureTree(walk, signal);
}
