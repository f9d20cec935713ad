import { open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const identity = z.object({ pid: z.number().int(), startedAt: z.string(), machineBoot: z.string() });

/** What was started for a sandbox; on disk before the sidecar is told to begin, so that no life goes unrecorded. */
const lifeRecord = z.object({
  bootId: z.string(),
  isolation: z.enum(["sandboxed", "host"]),
  /** The process that was started here: bubblewrap, or the sidecar itself under `host`. Leader of its group. */
  leader: identity,
  /** The first process of the pid namespace: with it everything inside ends. Null under `host`. */
  first: identity.nullable(),
});
export type LifeRecord = z.infer<typeof lifeRecord>;

export async function writeLife(directory: string, record: LifeRecord): Promise<void> {
  const target = fileOf(directory);
  const file = await open(`${target}.new`, "w", 0o600);
  try {
    await file.writeFile(JSON.stringify(record));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${target}.new`, target);
}

/** Null when nothing was started. Throws when it cannot be read: then nobody knows. */
export async function readLife(directory: string): Promise<LifeRecord | null> {
  try {
    return lifeRecord.parse(JSON.parse(await readFile(fileOf(directory), "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

export async function forgetLife(directory: string): Promise<void> {
  await rm(fileOf(directory), { force: true });
}

function fileOf(directory: string): string {
  return join(directory, "life.json");
}
