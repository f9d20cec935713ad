import { lstat, open, readdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../sidecar-problem.ts";
import { removeTree } from "./remove-tree.ts";

/**
 * Replaces a directory as a whole. Beside it, on the same file system, stand `.dormouse-<name>.new`
 * while something is made ready, and `.dormouse-<name>.old` from the moment the directory is moved
 * away until the new one stands. Whenever it is cut, `recoverDirectory` leads back to the old
 * directory or on to the new one, never to a mixture.
 */
export type SwapPhase = "staged" | "old-aside" | "new-in-place" | "old-removed";

/** Called at each point where a death must do no harm; tests die there. */
export type Reach = (phase: SwapPhase) => void;

export function stagingOf(directory: string): string {
  return join(dirname(directory), `.dormouse-${basename(directory)}.new`);
}

function asideOf(directory: string): string {
  return join(dirname(directory), `.dormouse-${basename(directory)}.old`);
}

/** `staged` must be complete and checked. */
export async function swapDirectory(directory: string, reach: Reach = () => {}): Promise<void> {
  const aside = asideOf(directory);
  await removeTree(aside);
  reach("staged");
  const replaces = await rename(directory, aside).then(
    () => true,
    (error) => {
      if (codeOf(error) !== "ENOENT") throw error;
      return false;
    },
  );
  reach("old-aside");
  try {
    await rename(stagingOf(directory), directory);
  } catch (error) {
    await recoverDirectory(directory);
    throw error;
  }
  reach("new-in-place");
  if (replaces) {
    await syncDirectory(dirname(directory));
    await removeTree(aside);
  }
  reach("old-removed");
}

/** At start, before anybody uses the directory. Idempotent. */
export async function recoverDirectory(directory: string): Promise<void> {
  const aside = asideOf(directory);
  if (!(await exists(directory)) && (await exists(aside))) await rename(aside, directory);
  await removeTree(aside);
  await removeTree(stagingOf(directory));
}

/** For each directory in `parent` that a death left in between. */
export async function recoverDirectories(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const left = names.map((name) => /^\.dormouse-(.+)\.(?:new|old)$/.exec(name)?.[1]);
  for (const name of new Set(left)) if (name) await recoverDirectory(join(parent, name));
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
