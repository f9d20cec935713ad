import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { removeTree } from "../archive/remove-tree.ts";
import type { Layout } from "../layout.ts";

const epochs = z.object({ historyEpoch: z.number(), filesEpoch: z.number() });
type Epochs = z.infer<typeof epochs>;

/**
 * What a reset made forgotten may still lie on the disk, of a sandbox that could not be reached then. A disk without a
 * record is from before the first reset. Idempotent: what is to go is gone before that is written down.
 */
export async function forgetOlder(layout: Layout, now: Epochs): Promise<void> {
  const before = await read(layout.epochs);
  if (before.historyEpoch < now.historyEpoch) {
    for (const directory of [layout.history, layout.home, join(layout.managed, "damaged-history")])
      await empty(directory);
    for (const subject of ["history", "home"]) await removeTree(join(layout.replaced, subject));
  }
  if (before.filesEpoch < now.filesEpoch) {
    for (const directory of [layout.sessions, layout.workspaceLives, layout.replaced]) await empty(directory);
  }
  if (before.historyEpoch === now.historyEpoch && before.filesEpoch === now.filesEpoch) return;
  await writeFile(`${layout.epochs}.new`, JSON.stringify(now), { flush: true });
  await rename(`${layout.epochs}.new`, layout.epochs);
}

/** The directory itself stays: somebody may have it mounted. */
async function empty(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) await removeTree(join(directory, name));
  await mkdir(directory, { recursive: true, mode: 0o755 });
}

async function read(path: string): Promise<Epochs> {
  const text = await readFile(path, "utf8").catch(() => "");
  try {
    return epochs.parse(JSON.parse(text));
  } catch {
    return { historyEpoch: 0, filesEpoch: 0 };
  }
}
