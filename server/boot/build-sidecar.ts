import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleSidecar } from "../../scripts/lib/bundle-sidecar.mjs";

/**
 * Makes `dist/sidecar.mjs`, the one file that runs in sandboxes. It takes a fraction of a second, so
 * every start does it. An unchanged file is left alone, a changed one replaced and not overwritten:
 * sandboxes that run still have the old one open.
 */
export async function buildSidecar(root: string): Promise<string> {
  const { code } = await bundleSidecar({ root });
  const path = join(root, "dist", "sidecar.mjs");
  if ((await readFile(path, "utf8").catch(() => null)) === code) return path;
  await mkdir(join(root, "dist"), { recursive: true });
  const made = `${path}.${process.pid}`;
  await writeFile(made, code);
  await rename(made, path);
  return path;
}
