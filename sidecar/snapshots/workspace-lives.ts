import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const record = z.object({ bootId: z.string(), how: z.enum(["creating", "created", "restored", "adopted"]) });

/**
 * Remembers, in the sidecar's own folder, when each workspace came to be (ARCHITECTURE.md, invariant 21). A directory
 * without such a record may be anything, such as an empty stand-in on a new disk, and is never
 * snapshotted.
 */
export interface WorkspaceLives {
  find(sessionId: string): Promise<{ life: "this" | "earlier" | "none"; complete: boolean }>;
  set(sessionId: string, how: "creating" | "created" | "restored" | "adopted"): Promise<void>;
  remove(sessionId: string): Promise<void>;
}

export function createWorkspaceLives(directory: string, bootId: string): WorkspaceLives {
  const pathOf = (sessionId: string) => join(directory, `${sessionId}.json`);
  return {
    async find(sessionId) {
      const text = await readFile(pathOf(sessionId), "utf8").catch(() => "null");
      const found = record.safeParse(parsed(text)).data;
      if (!found) return { life: "none", complete: false };
      return { life: found.bootId === bootId ? "this" : "earlier", complete: found.how !== "creating" };
    },
    async set(sessionId, how) {
      const path = pathOf(sessionId);
      await mkdir(directory, { recursive: true });
      await writeFile(`${path}.new`, JSON.stringify({ bootId, how }), { flush: true });
      await rename(`${path}.new`, path);
    },
    remove: (sessionId) => rm(pathOf(sessionId), { force: true }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
