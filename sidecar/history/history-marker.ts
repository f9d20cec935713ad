import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";

const marker = z.object({ bootId: z.string(), outcome: z.enum(["restored", "fresh", "skipped"]) });

/**
 * Says that this boot's history was restored or skipped. It outlives a sidecar that dies and is started
 * again for the same boot; a next boot has to restore or skip for itself.
 */
export interface HistoryMarker {
  find(): Promise<"restored" | "fresh" | "skipped" | null>;
  set(outcome: "restored" | "fresh" | "skipped"): Promise<void>;
}

export function createHistoryMarker(path: string, bootId: string): HistoryMarker {
  return {
    async find() {
      const text = await readFile(path, "utf8").catch(() => "null");
      const found = marker.safeParse(parsed(text)).data;
      return found?.bootId === bootId ? found.outcome : null;
    },
    async set(outcome) {
      await rm(`${path}.new`, { recursive: true, force: true });
      await writeFile(`${path}.new`, JSON.stringify({ bootId, outcome }), { flush: true });
      await rename(`${path}.new`, path);
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
