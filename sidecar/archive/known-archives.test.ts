import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createKnownArchives } from "./known-archives.ts";
import { withFolder } from "./test-archives.ts";

const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];

/** Flushes that end when they are told to. */
function createFlushes() {
  const begun: PromiseWithResolvers<void>[] = [];
  return {
    begun,
    flush() {
      const flush = Promise.withResolvers<void>();
      begun.push(flush);
      return flush.promise;
    },
  };
}

describe("the archives that a disk knows", () => {
  it("outlive the machine once the file system was flushed", () =>
    withFolder(async (directory) => {
      const { begun, flush } = createFlushes();
      const known = createKnownArchives({ directory, machineBoot: "monday", flush });
      const tuesday = createKnownArchives({ directory, machineBoot: "tuesday", flush });
      await known.add("history", first);
      expect(await known.list("history")).toEqual([first]);
      expect(await tuesday.list("history")).toEqual([]);
      // Added meanwhile: whether its files were flushed too, nobody knows.
      await known.add("history", second);
      await known.add("home", third);
      begun[0]?.resolve();
      await expect.poll(() => begun.length).toBe(2);
      expect(await tuesday.list("history")).toEqual([first]);
      expect(await tuesday.list("home")).toEqual([]);
      begun[1]?.resolve();
      await known.flushed();
      expect(await tuesday.list("history")).toEqual([second, first]);
      expect(await tuesday.list("home")).toEqual([third]);
      expect(begun.length).toBe(2);
    }));

  it("are those that it says where nothing can be flushed", () =>
    withFolder(async (directory) => {
      const known = createKnownArchives({ directory, machineBoot: "monday", flush: () => Promise.reject(new Error()) });
      await known.add("history", first);
      await known.flushed();
      expect(await createKnownArchives({ directory, machineBoot: "tuesday" }).list("history")).toEqual([first]);
    }));

  it("are forgotten for good, also by a flush that is under way", () =>
    withFolder(async (directory) => {
      const { begun, flush } = createFlushes();
      const known = createKnownArchives({ directory, flush });
      await known.add("home", first);
      await known.remove("home");
      begun[0]?.resolve();
      await known.flushed();
      expect(await known.list("home")).toEqual([]);
    }));

  it("are flushed by the system's own means", () =>
    withFolder(async (folder) => {
      const directory = join(folder, "archives");
      await mkdir(directory);
      // As sidecars wrote it that did not flush.
      await writeFile(join(directory, "home.json"), JSON.stringify({ archives: [first] }));
      const known = createKnownArchives({ directory });
      expect(await known.list("home")).toEqual([first]);
      await known.add("home", second);
      await known.flushed();
      expect(JSON.parse(await readFile(join(directory, "home.json"), "utf8"))).toEqual({
        archives: [second, first],
        unflushed: {},
      });
    }));
});
