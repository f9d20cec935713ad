import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const modules = "node_modules";

/**
 * opencode would fetch the package that plugins are written with, 60 MB beside the first turn; not where a lock file
 * names it already. A configuration that is there is somebody's, and left as it is. Not before the
 * agent starts: HOME has to be empty for as long as it may be restored. In no archive (`homeWalk`).
 */
export async function declinePluginPackage(configuration: string): Promise<void> {
  const there = await readdir(configuration).catch(() => []);
  if (there.some((name) => name !== modules)) return;
  await mkdir(join(configuration, modules), { recursive: true });
  const dependencies = { "@opencode-ai/plugin": "*" };
  const lock = { lockfileVersion: 3, requires: true, packages: { "": { dependencies } } };
  await writeFile(join(configuration, "package-lock.json"), JSON.stringify(lock));
}
