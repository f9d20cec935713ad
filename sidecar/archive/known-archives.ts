import { mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Problem } from "../problem.ts";

const record = z.object({ archives: z.array(z.string()) });
const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const mostKnown = 200;

/**
 * Which archives this disk is not older than, because they were made of it, restored to it, or passed over
 * at a wake. An archive is remembered before the last byte of it leaves: whatever the server keeps, the disk
 * that it was made of knows. A disk that does not know the newest one was set back, or is another one.
 */
export interface KnownArchives {
  /** Newest first. */
  list(subject: string): Promise<string[]>;
  /** Durable when resolved. */
  add(subject: string, archiveId: string): Promise<void>;
  forget(subject: string): Promise<void>;
}

export function createKnownArchives(directory: string): KnownArchives {
  const pathOf = (subject: string) => join(directory, `${subject}.json`);

  async function list(subject: string): Promise<string[]> {
    const text = await readFile(pathOf(subject), "utf8").catch(() => "null");
    return record.safeParse(parsed(text)).data?.archives ?? [];
  }

  return {
    list,
    async add(subject, archiveId) {
      const others = (await list(subject)).filter((id) => id !== archiveId);
      const path = pathOf(subject);
      await mkdir(directory, { recursive: true });
      const archives = [archiveId, ...others].slice(0, mostKnown);
      await writeFile(`${path}.new`, JSON.stringify({ archives }), { flush: true });
      await rename(`${path}.new`, path);
      await using folder = await open(directory, "r");
      await folder.sync();
    },
    forget: (subject) => rm(pathOf(subject), { force: true }),
  };
}

/** The id of an archive in a request; null where none is given. */
export function archiveIdIn(query: URLSearchParams, name: "archive" | "knows"): string | null {
  const id = query.get(name);
  if (id === null || idPattern.test(id)) return id;
  throw new Problem("invalid-input", `“${name}” is not the id of an archive.`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
