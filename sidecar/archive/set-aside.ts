import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../sidecar-problem.ts";
import { removeTree } from "./remove-tree.ts";

const maxSetAside = 2;

/** Moves a directory out of the way instead of removing it; a few of the newest stay in `folder`. Nothing where there is none. */
export async function setAside(directory: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await rename(directory, join(folder, `${Date.now()}-${randomBytes(4).toString("hex")}`));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  for (const name of (await readdir(folder)).sort().slice(0, -maxSetAside)) await removeTree(join(folder, name));
}
