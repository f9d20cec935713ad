import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { constants, unlinkSync } from "node:fs";
import {
  appendFile,
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  truncate,
  unlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { archiveManifest } from "../../server/protocol/archive/archive-answers.ts";
import { waitUntil } from "../test-sidecar.ts";
import { createArchiveNotes } from "./archive-notes.ts";
import { measureTree } from "./measure-tree.ts";
import { archiveOf, packed, packInto, restoreFrom, run, withFolder } from "./test-archives.ts";
import { walkTree } from "./walk-tree.ts";

const bytes = (...values: number[]) => Buffer.from(values);
const many = Number(process.env.ARCHIVE_TEST_FILES ?? 5_000);

async function roundTrip(folder: string, changes: Parameters<typeof packInto>[2] = {}) {
  const file = join(folder, "archive.tar.gz");
  const manifest = await packInto(file, join(folder, "from"), changes);
  const restored = await restoreFrom(file, join(folder, "to"));
  return { manifest, restored, file };
}

const describeTree = (root: string) =>
  [...walkTree({ root })].map(({ name, kind, status, target }) => ({
    name,
    kind,
    target,
    mode: status.mode & 0o777,
    size: kind === "file" ? status.size : 0,
    seconds: kind === "file" ? Math.floor(status.mtimeMs / 1_000) : 0,
  }));

describe("an archive", () => {
  it("brings back names, contents, modes, times and links of a tree", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(join(from, "outputs/deep/er"), { recursive: true });
      await writeFile(join(from, "outputs/page.html"), "<h1>hello</h1>");
      await writeFile(join(from, "outputs/run.sh"), "#!/bin/sh", { mode: 0o755 });
      await writeFile(join(from, "outputs/empty"), "");
      await writeFile(join(from, "outputs/deep/er/exactly-a-block"), Buffer.alloc(512, 7));
      await writeFile(join(from, "large.bin"), Buffer.alloc(3_000_001, "abc"));
      await utimes(join(from, "outputs/page.html"), 1_600_000_000, 1_600_000_000);
      await symlink("outputs/page.html", join(from, "inner"));
      await symlink("../outputs", join(from, "outputs/deep-link"));
      await symlink("nowhere/at/all", join(from, "dangling"));
      const { restored, manifest } = await roundTrip(folder);
      expect(describeTree(join(folder, "to"))).toEqual(describeTree(from));
      expect(await readFile(join(folder, "to/large.bin"))).toEqual(await readFile(join(from, "large.bin")));
      expect(await readFile(join(folder, "to/inner"), "utf8")).toBe("<h1>hello</h1>");
      expect(manifest).toMatchObject({ leftOut: [], changed: [], entries: restored.entries - 1 });
    }));

  it("keeps hostile and unreadable names as they are", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(from);
      const names = [
        "-rf",
        "--checkpoint-action=exec=sh",
        "new\nline",
        "tab\t and space ",
        "quote'\"`$(id)",
        "back\\slash",
        "..hidden",
        "...",
        "ümläut-日本語-🐭",
        "e\u0301 decomposed",
        "x".repeat(255),
        "C:\\windows",
        "=",
        "12 path=trick",
      ].map((name) => Buffer.from(name));
      names.push(bytes(0xff, 0xfe, 0x41), bytes(0xc3), Buffer.concat([Buffer.alloc(150, "y"), bytes(0x80, 0xff)]));
      for (const name of names) await writeFile(Buffer.concat([Buffer.from(`${from}/`), name]), name);
      await symlink(Buffer.concat([bytes(0xff), Buffer.alloc(140, "z")]), Buffer.from(join(from, "raw-link")));
      const deep = join(from, ...Array.from({ length: 12 }, (_, index) => `${index}`.repeat(60).slice(0, 60)));
      await mkdir(deep, { recursive: true });
      await writeFile(join(deep, "end"), "deep");
      await roundTrip(folder);
      expect(describeTree(join(folder, "to"))).toEqual(describeTree(from));
      for (const name of names) {
        expect(await readFile(Buffer.concat([Buffer.from(`${folder}/to/`), name]))).toEqual(name);
      }
    }));

  it("leaves out links that lead out, pipes, sockets and devices, and says so", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(join(from, "a/b"), { recursive: true });
      await writeFile(join(from, "file"), "file");
      await symlink("/etc/passwd", join(from, "absolute"));
      await symlink("../outside", join(from, "up"));
      await symlink("../..", join(from, "a/b/to-root"));
      await symlink("a/b/to-root/..", join(from, "detour"));
      await symlink(join(from, "file"), join(from, "a/absolute-inside"));
      await symlink("circle", join(from, "circle"));
      await run("mkfifo", [join(from, "pipe")]);
      const server = createServer().listen(join(from, "socket"));
      await once(server, "listening");
      if (process.getuid?.() === 0) await run("mknod", [join(from, "device"), "c", "1", "3"]);
      const { manifest } = await roundTrip(folder);
      server.close();
      const left = Object.fromEntries(manifest.leftOut.map(({ path, reason }) => [path, reason]));
      expect(left).toMatchObject({
        absolute: "link-leads-out",
        up: "link-leads-out",
        detour: "link-leads-out",
        pipe: "special-file",
        socket: "special-file",
        ...(process.getuid?.() === 0 ? { device: "special-file" } : {}),
      });
      expect((await readdir(join(folder, "to"))).sort()).toEqual(["a", "circle", "file"]);
      // One that was absolute and stays inside still leads there, wherever the directory is.
      expect(await readlink(join(folder, "to/a/absolute-inside"))).toBe("../file");
    }));

  it("keeps several names of one file as such, and counts it once", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(join(from, "x"), { recursive: true });
      await writeFile(join(from, "one"), Buffer.alloc(100_000, 1));
      await link(join(from, "one"), join(from, "x/two"));
      await roundTrip(folder);
      const [one, two] = [await stat(join(folder, "to/one")), await stat(join(folder, "to/x/two"))];
      expect({ same: one.ino === two.ino, names: one.nlink, size: two.size }).toEqual({
        same: true,
        names: 2,
        size: 100_000,
      });
      expect((await measureTree({ root: from })).bytes).toBe(100_000);
    }));

  it("makes holes again where a file had them", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(from);
      const size = Number(process.env.ARCHIVE_TEST_SPARSE_BYTES ?? 200_000_000);
      await writeFile(join(from, "sparse"), "start");
      await truncate(join(from, "sparse"), size);
      await appendFile(join(from, "sparse"), "end");
      await roundTrip(folder);
      const restored = await stat(join(folder, "to/sparse"));
      expect(restored.size).toBe(size + 3);
      expect(restored.blocks * 512).toBeLessThan(2_000_000);
      await using file = await open(join(folder, "to/sparse"));
      const { buffer } = await file.read(Buffer.alloc(3), 0, 3, size);
      expect(buffer.toString()).toBe("end");
      expect((await file.read(Buffer.alloc(5), 0, 5, 0)).buffer.toString()).toBe("start");
    }));

  it(`holds ${many} small files`, { timeout: 300_000 }, () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      for (let index = 0; index < many; index += 1) {
        const directory = join(from, `d${Math.floor(index / 500)}`);
        if (index % 500 === 0) await mkdir(directory, { recursive: true });
        await writeFile(join(directory, `f${index}`), `content of ${index}`);
      }
      const { restored } = await roundTrip(folder);
      expect(restored.entries).toBe(many + Math.ceil(many / 500) + 1);
      expect(await readFile(join(folder, "to/d0/f123"), "utf8")).toBe("content of 123");
    }),
  );

  it.each([
    ["shrinks", (path: string) => truncate(path, 1_500_000), "shrank", 8_000_000],
    ["grows", (path: string) => appendFile(path, Buffer.alloc(3_000_000, 9)), "grew", 8_000_000],
    ["is written to", (path: string) => utimes(path, 1, 1), "changed", 8_000_000],
  ])("keeps its form when a file %s while it is read, and names it", (_what, change, how, size) =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(from);
      await writeFile(join(from, "moving"), Buffer.alloc(8_000_000, 5));
      await writeFile(join(from, "next"), "unharmed");
      const file = join(folder, "archive.tar.gz");
      const notes = createArchiveNotes();
      const chunks: Buffer[] = [];
      for await (const chunk of packed(from, { notes })) {
        if (chunks.length === 0) await change(join(from, "moving"));
        chunks.push(chunk);
      }
      await writeFile(file, Buffer.concat(chunks));
      await restoreFrom(file, join(folder, "to"));
      expect(notes.manifest().changed).toEqual([{ path: "moving", how }]);
      expect((await stat(join(folder, "to/moving"))).size).toBe(size);
      expect(await readFile(join(folder, "to/next"), "utf8")).toBe("unharmed");
      const content = await readFile(join(folder, "to/moving"));
      expect(content.subarray(0, 1_000_000).every((byte) => byte === 5)).toBe(true);
    }),
  );

  it("goes on when a file vanishes, or becomes something else, before it is read", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(from);
      for (const name of ["a", "gone", "piped", "z"]) await writeFile(join(from, name), name);
      const notes = createArchiveNotes();
      const vanish = {
        root: from,
        // Asked once the entry was seen and before it is opened.
        leaveOut({ name }: { name: string }) {
          if (name === "gone") unlinkSync(join(from, "gone"));
          if (name === "piped") {
            unlinkSync(join(from, "piped"));
            execFileSync("mkfifo", [join(from, "piped")]);
          }
          return null;
        },
      };
      await packInto(join(folder, "archive"), from, { walk: vanish, notes });
      await restoreFrom(join(folder, "archive"), join(folder, "to"));
      expect(await readdir(join(folder, "to"))).toEqual(["a", "z"]);
      expect(notes.manifest().leftOut).toEqual([
        { path: "gone", reason: "vanished" },
        { path: "piped", reason: "special-file" },
      ]);
    }));

  it("leaves out what may not be read, and says so", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(join(from, "locked"), { recursive: true });
      await writeFile(join(from, "secret"), "secret", { mode: 0o000 });
      await writeFile(join(from, "open"), "open", { mode: 0o644 });
      await writeFile(join(from, "locked/inner"), "inner");
      await chmod(join(from, "locked"), 0o000);
      await chmod(folder, 0o777);
      const root = process.getuid?.() === 0;
      if (root) process.seteuid?.(65_534);
      const manifest = await packInto(join(folder, "archive"), from).finally(() => root && process.seteuid?.(0));
      expect(manifest.leftOut).toEqual([
        { path: "locked", reason: "unreadable" },
        { path: "secret", reason: "unreadable" },
      ]);
      await chmod(join(from, "locked"), 0o700);
      await restoreFrom(join(folder, "archive"), join(folder, "to"));
      expect(await readdir(join(folder, "to"))).toEqual(["open"]);
    }));

  it("restores folders that their owner locked, and replaces them again", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(join(from, "locked/inner"), { recursive: true });
      await writeFile(join(from, "locked/inner/file"), "x");
      await chmod(join(from, "locked"), 0o500);
      const { file } = await roundTrip(folder);
      expect((await stat(join(folder, "to/locked"))).mode & 0o777).toBe(0o500);
      await restoreFrom(file, join(folder, "to"));
      expect(await readFile(join(folder, "to/locked/inner/file"), "utf8")).toBe("x");
    }));

  it("restores the later one of two entries of a name, and nothing through the earlier one", () =>
    withFolder(async (folder) => {
      const twice = archiveOf([
        { name: "workspace/a", content: "old" },
        { name: "workspace/b", kind: "link", target: "a" },
        { name: "workspace/b", content: "new" },
        { name: "workspace/c", content: "old" },
        { name: "workspace/c", content: Buffer.alloc(700_000, "n") },
      ]);
      await restoreFrom(twice, join(folder, "to"));
      expect(await readFile(join(folder, "to/a"), "utf8")).toBe("old");
      expect(await readFile(join(folder, "to/b"), "utf8")).toBe("new");
      expect((await stat(join(folder, "to/c"))).size).toBe(700_000);
    }));

  it("never restores set-user-id and the like", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      await mkdir(from);
      await writeFile(join(from, "su"), "x");
      await chmod(join(from, "su"), 0o6755);
      await roundTrip(folder);
      expect((await lstat(join(folder, "to/su"))).mode & 0o7777).toBe(0o755);
    }));

  it("ends with a manifest beside its root", () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "from"));
      await writeFile(join(folder, "from/a"), "a");
      const { file } = await roundTrip(folder);
      const { stdout } = await run("tar", ["xzOf", file, "manifest.json"]);
      expect(archiveManifest.parse(JSON.parse(stdout))).toMatchObject({ entries: 1, bytes: 1 });
      expect(await readdir(join(folder, "to"))).toEqual(["a"]);
    }));

  it("stops when whoever wanted it has gone", () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "from"));
      await writeFile(join(folder, "from/a"), Buffer.alloc(5_000_000, 1));
      const gone = new AbortController();
      gone.abort();
      await expect(packInto(join(folder, "x"), join(folder, "from"), { signal: gone.signal })).rejects.toThrow();
    }));
});

describe("a fingerprint", () => {
  const steadyFingerprint = async (root: string) => {
    // Files that were just written have none that holds.
    let found = "";
    await waitUntil(async () => {
      found = (await measureTree({ root })).fingerprint;
      return found === (await measureTree({ root })).fingerprint;
    }, "a fingerprint that holds");
    return found;
  };

  it("holds while nothing changes, and changes with every kind of change", () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "d"));
      await writeFile(join(folder, "a"), "aaaa");
      await symlink("a", join(folder, "l"));
      let before = await steadyFingerprint(folder);
      const changes = [
        () => writeFile(join(folder, "a"), "bbbb"),
        async () => {
          const { atime, mtime } = await stat(join(folder, "a"));
          await using file = await open(join(folder, "a"), constants.O_WRONLY);
          await file.write("cccc");
          // Whoever sets the time back cannot set back when that was done.
          await file.utimes(atime, mtime);
        },
        () => chmod(join(folder, "a"), 0o600),
        () => writeFile(join(folder, "new"), ""),
        () => unlink(join(folder, "new")),
        () => mkdir(join(folder, "d/e")),
        () => unlink(join(folder, "l")),
        () => symlink("d", join(folder, "l")),
      ];
      for (const change of changes) {
        await change();
        const after = await steadyFingerprint(folder);
        expect(after).not.toBe(before);
        before = after;
      }
    }));
});
