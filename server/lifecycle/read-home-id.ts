import { randomUUID } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What the file was called from the beginning, and is in homes that exist. */
const fileName = "place";

/**
 * The name of a home, kept in it: two machines may have theirs under the same path. Only the process that
 * holds the home's lock may ask, since whoever has the name takes over its predecessors' leases.
 */
export async function readHomeId(home: string): Promise<string> {
  const path = join(home, fileName);
  const known = (await readFile(path, "utf8").catch(() => "")).trim();
  if (known) return known;
  const made = randomUUID();
  await writeFile(`${path}.new`, `${made}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return made;
}
