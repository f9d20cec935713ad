import { existsSync, readFileSync } from "node:fs";
import { mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { uuidPattern } from "../../server/protocol/ids.ts";
import { Problem } from "../sidecar-problem.ts";
import { runSystemProgram } from "./run-system-program.ts";

const idPattern = new RegExp(`^${uuidPattern}$`);
const maxKnown = 200;

const knownRecord = z.object({
  /** Newest first. */
  archives: z.array(z.string()),
  /** Of those, whose files may not have reached the disk yet, with the boot of the machine in which they are there. */
  unflushed: z.record(z.string(), z.string()).default({}),
});
type KnownRecord = z.infer<typeof knownRecord>;

/**
 * Which archives this disk is not older than, because they were made of it, restored to it, or passed over
 * at a wake. An archive is remembered before the last byte of it leaves: whatever the server keeps, the disk
 * that it was made of knows. A disk that does not know the newest one was set back, or is another one.
 *
 * The files that an archive was made of, or restored to, are still in the system's memory then. So it is known
 * in this boot of the machine only, until the file system was flushed, which goes on in the background: a
 * machine that fails before may have lost them, and its disk is older than the archive.
 */
export interface KnownArchives {
  /** Newest first. */
  list(subject: string): Promise<string[]>;
  /** Durable when resolved. */
  add(subject: string, archiveId: string): Promise<void>;
  remove(subject: string): Promise<void>;
  /** Resolves once nothing is left to be flushed. */
  flushed(): Promise<void>;
}

export interface KnownArchivesOptions {
  directory: string;
  machineBoot?: string;
  /** Throws where it cannot be done: then the disk is taken at its word. */
  flush?(directory: string): Promise<void>;
}

export function createKnownArchives(options: KnownArchivesOptions): KnownArchives {
  const { directory, machineBoot = readMachineBoot(), flush = flushFileSystem } = options;
  const pathOf = (subject: string) => join(directory, `${subject}.json`);
  let waiting: { subject: string; archiveId: string }[] = [];
  let flushing: Promise<void> | null = null;
  let changing: Promise<void> = Promise.resolve();

  async function read(subject: string): Promise<KnownRecord> {
    const text = await readFile(pathOf(subject), "utf8").catch(() => "null");
    return knownRecord.safeParse(parsed(text)).data ?? { archives: [], unflushed: {} };
  }

  /** One after another; `edit` gives null where there is nothing to write. */
  function change(subject: string, edit: (known: KnownRecord) => KnownRecord | null): Promise<void> {
    const changed = changing.then(async () => {
      const next = edit(await read(subject));
      if (next) await write(pathOf(subject), next);
    });
    changing = changed.catch(() => {});
    return changed;
  }

  async function write(path: string, known: KnownRecord): Promise<void> {
    await mkdir(directory, { recursive: true });
    await writeFile(`${path}.new`, JSON.stringify(known), { flush: true });
    await rename(`${path}.new`, path);
    await using folder = await open(directory, "r");
    await folder.sync();
  }

  /** Only what was there before the flush began is on the disk after it. */
  async function flushAll(): Promise<void> {
    while (waiting.length > 0) {
      const taken = waiting;
      waiting = [];
      await flush(directory).catch(() => {});
      for (const { subject, archiveId } of taken) {
        await change(subject, ({ archives, unflushed: { [archiveId]: known, ...unflushed } }) =>
          known === undefined ? null : { archives, unflushed },
        ).catch(() => {});
      }
    }
  }

  return {
    async list(subject) {
      const { archives, unflushed } = await read(subject);
      return archives.filter((id) => (unflushed[id] ?? machineBoot) === machineBoot);
    },
    async add(subject, archiveId) {
      await change(subject, ({ archives: before, unflushed }) => {
        const archives = [archiveId, ...before.filter((id) => id !== archiveId)].slice(0, maxKnown);
        const kept = Object.entries(unflushed).filter(([id]) => archives.includes(id));
        return { archives, unflushed: { ...Object.fromEntries(kept), [archiveId]: machineBoot } };
      });
      waiting.push({ subject, archiveId });
      flushing ??= flushAll().finally(() => {
        flushing = null;
      });
    },
    async remove(subject) {
      await changing;
      await rm(pathOf(subject), { force: true });
    },
    flushed: async () => void (await flushing),
  };
}

function readMachineBoot(): string {
  const path = "/proc/sys/kernel/random/boot_id";
  return existsSync(path) ? readFileSync(path, "utf8").trim() : "";
}

const flushDeadline = 10 * 60_000;

function flushFileSystem(directory: string): Promise<void> {
  return runSystemProgram("sync", ["-f", directory], flushDeadline);
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
