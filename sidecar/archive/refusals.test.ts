import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { archiveOf, bytesOf, type MadeEntry, restoreFrom, withFolder } from "./test-archives.ts";

const file = (name: string, content = "x"): MadeEntry => ({ name, content });
const link = (name: string, target: string): MadeEntry => ({ kind: "link", name, target });
const hardLink = (name: string, target: string): MadeEntry => ({ kind: "hard-link", name, target });
const flagged = (flag: string): MadeEntry => ({ name: "workspace/x", header: (block) => void block.write(flag, 156) });
const pax = (text: string): MadeEntry => ({
  name: "PaxHeader",
  content: text,
  header: (block) => void block.write("x", 156),
});

const hostile: [string, Buffer][] = [
  ["an absolute path", archiveOf([file("/etc/owned")])],
  ["a path with ..", archiveOf([file("workspace/../../owned")])],
  ["a path of .. alone", archiveOf([file("..")])],
  ["an unknown root", archiveOf([file("elsewhere/x")])],
  ["a file as root", archiveOf([file("workspace")])],
  ["the history's root", archiveOf([file(".opencode-data/opencode/opencode.db")])],
  ["an absolute link", archiveOf([link("workspace/l", "/etc")])],
  ["a link that leads out", archiveOf([link("workspace/l", "..")])],
  ["a link that leads out deeper", archiveOf([link("workspace/a/l", "../../x")])],
  ["an empty link", archiveOf([link("workspace/l", "")])],
  [
    "links that lead out only together",
    archiveOf([file("workspace/a/b/c"), link("workspace/a/b/l", "../.."), link("workspace/m", "a/b/l/..")]),
  ],
  ["a file through a link", archiveOf([link("workspace/l", "a"), file("workspace/l/x")])],
  ["a folder over a link", archiveOf([link("workspace/l", "a"), { kind: "directory", name: "workspace/l" }])],
  ["a file over a folder", archiveOf([file("workspace/a/b"), file("workspace/a")])],
  ["a file below a file", archiveOf([file("workspace/a"), file("workspace/a/b")])],
  ["a hard link to outside", archiveOf([hardLink("workspace/h", "/etc/passwd")])],
  ["a hard link upwards", archiveOf([hardLink("workspace/h", "workspace/../../secret")])],
  ["a hard link to nothing", archiveOf([hardLink("workspace/h", "workspace/nothing")])],
  ["a hard link to another root", archiveOf([hardLink("workspace/h", "manifest.json")])],
  ["a hard link to a link", archiveOf([link("workspace/l", "a"), hardLink("workspace/h", "workspace/l")])],
  ["a character device", archiveOf([flagged("3")])],
  ["a block device", archiveOf([flagged("4")])],
  ["a pipe", archiveOf([flagged("6")])],
  ["an unknown kind", archiveOf([flagged("Z")])],
  ["a name with a zero", archiveOf([pax("25 path=workspace/a\0/b/c\n".replace("25", "24")), file("workspace/x")])],
  ["a hidden absolute path", archiveOf([pax("15 path=/etc/x\n"), file("workspace/x")])],
  ["a negative size", archiveOf([{ name: "workspace/x", header: (block) => void block.fill(0xff, 124, 136) }])],
  ["a size that is no number", archiveOf([{ name: "workspace/x", header: (block) => void block.write("9zz", 124) }])],
  ["a size that is not there", gzipSync(bytesOf({ name: "workspace/x", size: 5_000, content: "" }))],
  ["a broken extended header", archiveOf([pax("99 path=x\n"), file("workspace/x")])],
  ["an endless extended header", archiveOf([{ ...pax("a".repeat(70_000)) }, file("workspace/x")])],
  ["many extended headers", archiveOf([...Array.from({ length: 40 }, () => pax("10 a=bcde\n")), file("workspace/x")])],
  ["a very long name", archiveOf([file(`workspace/${"x".repeat(300)}`)])],
  ["a very deep name", archiveOf([file(`workspace/${"x/".repeat(500)}y`)])],
  ["no end", gzipSync(bytesOf(file("workspace/x")))],
  ["something that is no archive", gzipSync(Buffer.alloc(2_000, "not a tar "))],
  ["something that is not gzip", Buffer.from("plain text".repeat(100))],
  ["rubbish after its end", Buffer.concat([archiveOf([file("workspace/x")]), Buffer.from("rubbish")])],
  ["nothing at all", Buffer.alloc(0)],
  ["a cut stream", archiveOf([file("workspace/x", "y".repeat(5_000))]).subarray(0, -40)],
];

describe("an archive that is refused", () => {
  it.each(hostile)("for %s leaves the directory and all around it as they were", (_what, archive) =>
    withFolder(async (folder) => {
      const directory = join(folder, "in/to");
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, "mine"), "mine");
      await writeFile(join(folder, "secret"), "secret");
      await expect(restoreFrom(archive, directory)).rejects.toMatchObject({
        kind: "invalid-input",
        message: expect.stringMatching(/^The archive (is damaged|was refused|holds)/),
      });
      expect(await readdir(folder)).toEqual(["in", "secret"]);
      expect(await readdir(join(folder, "in"))).toEqual(["to"]);
      expect(await readdir(directory)).toEqual(["mine"]);
    }),
  );

  it("for its size when unpacked is refused while it is unpacked", () =>
    withFolder(async (folder) => {
      const bomb = gzipSync(bytesOf({ name: "workspace/zeros", content: Buffer.alloc(50_000_000) }));
      expect(bomb.length).toBeLessThan(100_000);
      const limits = { maxBytes: 1_000_000, maxEntries: 10 };
      const unrelated = gzipSync(bytesOf({ name: "elsewhere/zeros", content: Buffer.alloc(50_000_000) }));
      await expect(restoreFrom(unrelated, join(folder, "to"), { limits, unrelated: "ignore" })).rejects.toMatchObject({
        kind: "too-large",
      });
      await expect(restoreFrom(bomb, join(folder, "to"), { limits })).rejects.toMatchObject({ kind: "too-large" });
      expect(await readdir(folder)).toEqual([]);
    }));

  it("for the number of its entries says so", () =>
    withFolder(async (folder) => {
      const archive = archiveOf(Array.from({ length: 50 }, (_, index) => file(`workspace/${index}`)));
      const limits = { maxBytes: 1_000_000, maxEntries: 49 };
      await expect(restoreFrom(archive, join(folder, "to"), { limits })).rejects.toMatchObject({ kind: "too-large" });
    }));
});

describe("an archive with entries outside its root", () => {
  it("is restored without them where that is agreed (invariant 4), but not with paths that lead out", () =>
    withFolder(async (folder) => {
      const archive = archiveOf([
        file("unrelated/x"),
        { name: "device", header: (block) => void block.write("3", 156) },
        file(".opencode-data/kept"),
        file("README"),
      ]);
      const changes = { rootName: ".opencode-data", unrelated: "ignore" } as const;
      await restoreFrom(archive, join(folder, "to"), changes);
      expect(await readdir(folder)).toEqual(["to"]);
      expect(await readdir(join(folder, "to"))).toEqual(["kept"]);
      const bad = archiveOf([file("../x"), file(".opencode-data/kept")]);
      await expect(restoreFrom(bad, join(folder, "to"), changes)).rejects.toMatchObject({ kind: "invalid-input" });
    }));
});

describe("what is unusual and harmless", () => {
  it("is restored: repeated names, global headers, unknown records", () =>
    withFolder(async (folder) => {
      const archive = archiveOf([
        { name: "g", content: "15 path=/etc/x\n", header: (block) => void block.write("g", 156) },
        file("workspace/a", "first"),
        pax("17 SCHILY.dev=11\n"),
        file("workspace/a", "second"),
        file("./workspace//b/./c", "c"),
      ]);
      await restoreFrom(archive, join(folder, "to"));
      expect(await readFile(join(folder, "to/a"), "utf8")).toBe("second");
      expect(await readFile(join(folder, "to/b/c"), "utf8")).toBe("c");
    }));

  it("is a later file over a link: the link is replaced and what it leads to is not touched", () =>
    withFolder(async (folder) => {
      const archive = archiveOf([file("workspace/a", "a"), link("workspace/l", "a"), file("workspace/l", "l")]);
      await restoreFrom(archive, join(folder, "to"));
      expect(await readFile(join(folder, "to/a"), "utf8")).toBe("a");
      expect(await readFile(join(folder, "to/l"), "utf8")).toBe("l");
      expect(gunzipSync(archive).length % 512).toBe(0);
    }));

  it("is a directory that is a link: it is replaced, and what it led to stays", () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "other"));
      await writeFile(join(folder, "other/mine"), "mine");
      await symlink("other", join(folder, "to"));
      await restoreFrom(archiveOf([file("workspace/a", "a")]), join(folder, "to"));
      expect(await readdir(join(folder, "to"))).toEqual(["a"]);
      expect(await readdir(join(folder, "other"))).toEqual(["mine"]);
    }));
});
