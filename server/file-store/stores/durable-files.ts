import { mkdir, open, rename, rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./filesystem-error.ts";

/** A name is durable only once the folder that holds it is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Moves a flushed file to its name, and lasts. */
export async function publish(temporary: string, path: string): Promise<void> {
  // A remover may take the empty folder away between the two; it does so once for each object it removes.
  for (let attempt = 1; ; attempt++) {
    await makeFolder(dirname(path));
    try {
      await rename(temporary, path);
      break;
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || attempt === 10) throw error;
    }
  }
  await syncFolder(dirname(path));
}

/** Takes empty folders away, from the innermost up to the root, which stays. */
export async function removeEmptyFolders(folder: string, root: string): Promise<void> {
  for (let at = folder; at.length > root.length; at = dirname(at)) {
    try {
      await rmdir(at);
    } catch (error) {
      if (codeOf(error) === "ENOENT") continue;
      return;
    }
  }
}

export async function makeFolder(folder: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const first = await mkdir(folder, { recursive: true, mode: 0o700 });
      for (let at = folder; first && at.length >= first.length; at = dirname(at)) await syncFolder(dirname(at));
      return;
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || attempt === 10) throw error;
    }
  }
}
