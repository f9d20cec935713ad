import { once } from "node:events";
import { lstatSync, readFileSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { endOfArchive } from "../../server/protocol/archive/encode-entry.ts";
import { measureTree } from "./measure-tree.ts";
import { bytesOf, type MadeEntry, packInto, restoreFrom, run, withFolder } from "./test-archives.ts";

const folder = (name: string, mode = 0o755): MadeEntry => ({ kind: "directory", name, mode });
const file = (name: string, content = name): MadeEntry => ({ name, content });

/** Enough that a thread is started to write files beside. */
const many = Array.from({ length: 1_050 }, (_, index) => file(`workspace/a/${String(index).padStart(4, "0")}`));
const begin = [folder("workspace"), folder("workspace/a"), ...many];

/** Behind `begin`, the thread runs by the time the second part comes. */
async function* inTwoParts(first: readonly MadeEntry[], second: readonly MadeEntry[]): AsyncGenerator<Buffer> {
  const started = first === begin ? once(process, "worker") : null;
  yield gzipSync(Buffer.concat(first.map(bytesOf)));
  if (started) await once((await started)[0], "online");
  yield gzipSync(Buffer.concat([...second.map(bytesOf), endOfArchive]));
}

/** As long as something was changed just now, each walk gives another one. */
async function walked(root: string): Promise<string> {
  for (let last = ""; ; ) {
    const { fingerprint } = await measureTree({ root });
    if (fingerprint === last) return fingerprint;
    last = fingerprint;
  }
}

describe("files that are written beside", () => {
  const restore = (second: readonly MadeEntry[], use: (to: string, done: { fingerprint: string }) => Promise<void>) =>
    withFolder(async (root) => {
      const to = join(root, "to");
      const done = await restoreFrom(Buffer.alloc(0), to, { source: inTwoParts(begin, second) });
      await use(to, done);
    });
  const content = (to: string, name: string) => readFileSync(join(to, name), "utf8");
  const more = Array.from({ length: 300 }, (_, index) => file(`workspace/b/${String(index).padStart(4, "0")}`));

  it("all stand, with the fingerprint of a walk", () =>
    restore([folder("workspace/b"), ...more, file("workspace/c", "c".repeat(400_000))], async (to, { fingerprint }) => {
      for (const { name } of [...many, ...more]) expect(content(to, name.slice("workspace/".length))).toBe(name);
      expect(lstatSync(join(to, "c")).size).toBe(400_000);
      expect(await walked(to)).toBe(fingerprint);
    }));

  it("stand before a hard link to them does", () =>
    restore(
      [folder("workspace/b"), ...more, { kind: "hard-link", name: "workspace/h", target: "workspace/b/0299" }],
      async (to, { fingerprint }) => {
        expect(content(to, "h")).toBe("workspace/b/0299");
        expect(await walked(to)).toBe(fingerprint);
      },
    ));

  it("are replaced by later entries of their names", () =>
    restore(
      [folder("workspace/b"), ...more, file("workspace/b/0299", "later"), file("workspace/a/0000", "later, too")],
      async (to, { fingerprint }) => {
        expect(content(to, "b/0299")).toBe("later");
        expect(content(to, "a/0000")).toBe("later, too");
        expect(await walked(to)).toBe(fingerprint);
      },
    ));

  it("are no folders for what comes next", () =>
    withFolder(async (root) => {
      const second = [folder("workspace/b"), ...more, file("workspace/b/0299/below")];
      const restoring = restoreFrom(Buffer.alloc(0), join(root, "to"), { source: inTwoParts(begin, second) });
      await expect(restoring).rejects.toThrow("it lies below something that is not a folder");
      expect(await readdir(root)).toEqual([]);
    }));

  it("end with a restore that breaks off", () =>
    withFolder(async (root) => {
      async function* broken() {
        yield* inTwoParts(begin, [folder("workspace/b"), ...more, file("elsewhere/x")]);
      }
      const threads: Worker[] = [];
      const remember = (thread: Worker) => void threads.push(thread);
      process.on("worker", remember);
      await expect(restoreFrom(Buffer.alloc(0), join(root, "to"), { source: broken() })).rejects.toThrow("elsewhere");
      process.off("worker", remember);
      for (const thread of threads) if (thread.threadId !== -1) await once(thread, "exit");
      expect(await readdir(root)).toEqual([]);
    }));
});

describe("the fingerprint of a restore is that of a walk", () => {
  const future = Math.floor(Date.now() / 1_000) + 100_000;
  const cases: [string, MadeEntry[]][] = [
    ["for files and folders", [folder("workspace/a", 0o700), file("workspace/a/x"), file("workspace/a-x")]],
    ["for links", [file("workspace/a"), { kind: "link", name: "workspace/l", target: "a" }]],
    ["for hard links", [file("workspace/a"), { kind: "hard-link", name: "workspace/h", target: "workspace/a" }]],
    ["for files of the future", [{ ...file("workspace/a"), modifiedAt: future }]],
    ["for modes that no umask lets pass", [{ ...file("workspace/a"), mode: 0o666 }, folder("workspace/b", 0o777)]],
    ["for folders that nobody may write to", [folder("workspace/a", 0o500), file("workspace/a/x")]],
    ["for folders that the archive does not name", [file("workspace/a/b/c")]],
    ["for another order", [file("workspace/b"), file("workspace/a")]],
    ["for what only begins like a folder", [file("workspace/a-x"), folder("workspace/a"), file("workspace/a/x")]],
    ["for names that come twice", [file("workspace/a"), file("workspace/a", "again")]],
    [
      "for names that are not UTF-8",
      [{ ...file("workspace/x"), header: (block) => void block.write("\xff", 10, "latin1") }],
    ],
  ];

  it.each(cases)("%s", (_what, entries) =>
    withFolder(async (root) => {
      const source = inTwoParts([folder("workspace")], entries);
      const { fingerprint } = await restoreFrom(Buffer.alloc(0), join(root, "to"), { source });
      expect(await walked(join(root, "to"))).toBe(fingerprint);
    }),
  );

  it("for a real repository", () =>
    withFolder(async (root) => {
      const from = join(root, "from");
      await mkdir(from);
      const git = (...words: string[]) =>
        run("git", ["-C", from, "-c", "user.name=x", "-c", "user.email=x@y", ...words]);
      await git("init", "-q");
      await git("commit", "-q", "--allow-empty", "-m", "root");
      // Files that were just written are looked at once more, which is not what is tried here.
      await run("find", [from, "-exec", "touch", "-h", "-d", "2024-01-01", "{}", "+"]);
      await packInto(join(root, "archive"), from);
      const { fingerprint } = await restoreFrom(join(root, "archive"), join(root, "to"));
      expect(await walked(join(root, "to"))).toBe(fingerprint);
    }));
});
