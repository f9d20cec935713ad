import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../test-sidecar.ts";
import { recoverDirectories, recoverDirectory, stagingOf, swapDirectory } from "./swap-directory.ts";
import { packInto, run, withFolder } from "./test-archives.ts";

const program = join(import.meta.dirname, "test/restore-and-die.ts");

async function prepare(folder: string) {
  const [from, directory, archive] = [join(folder, "from"), join(folder, "around/to"), join(folder, "archive")];
  await mkdir(from, { recursive: true });
  await mkdir(directory, { recursive: true });
  for (let index = 0; index < 300; index += 1) await writeFile(join(from, `new-${index}`), `${index}`.repeat(500));
  for (const name of ["old-1", "old-2"]) await writeFile(join(directory, name), name);
  await packInto(archive, from);
  return { directory, archive, names: { old: ["old-1", "old-2"], new: (await readdir(from)).sort() } };
}

describe("a restore that is killed", () => {
  it.each([
    ["inspected", "old"],
    ["staged", "old"],
    ["old-aside", "old"],
    ["new-in-place", "new"],
    ["old-removed", "new"],
  ] as const)("at %j leaves, after the next start, the %s directory and nothing else", (phase, which) =>
    withFolder(async (folder) => {
      const { directory, archive, names } = await prepare(folder);
      const child = spawn(process.execPath, [program, archive, directory, phase], { stdio: "ignore" });
      const [, signal] = await once(child, "exit");
      expect(signal).toBe("SIGKILL");
      await recoverDirectory(directory);
      expect((await readdir(directory)).sort()).toEqual(names[which]);
      expect(await readdir(join(folder, "around"))).toEqual(["to"]);
      await recoverDirectory(directory);
      expect((await readdir(directory)).sort()).toEqual(names[which]);
    }),
  );

  it("while it unpacks leaves the old directory", () =>
    withFolder(async (folder) => {
      const { directory, names } = await prepare(folder);
      // An archive that never ends: a pipe that nobody writes to any more.
      const pipe = join(folder, "pipe");
      await run("mkfifo", [pipe]);
      const child = spawn(process.execPath, [program, pipe, directory, "never"], { stdio: "ignore" });
      const writer = spawn("sh", ["-c", `head -c 20000 '${join(folder, "archive")}' > '${pipe}'; sleep 60`], {
        stdio: "ignore",
      });
      await waitUntil(async () => (await stat(stagingOf(directory)).catch(() => null)) !== null, "the staging");
      child.kill("SIGKILL");
      writer.kill("SIGKILL");
      await once(child, "exit");
      await recoverDirectories(join(folder, "around"));
      expect(await readdir(directory)).toEqual(names.old);
      expect(await readdir(join(folder, "around"))).toEqual(["to"]);
    }));
});

describe("exchanging a directory", () => {
  it("leaves the old one where the new one cannot be put", () =>
    withFolder(async (folder) => {
      const directory = join(folder, "to");
      await mkdir(directory);
      await writeFile(join(directory, "old"), "");
      await expect(swapDirectory(directory)).rejects.toMatchObject({ code: "ENOENT" });
      expect(await readdir(directory)).toEqual(["old"]);
      expect(await readdir(folder)).toEqual(["to"]);
    }));

  it("is finished for every directory of a folder at the next start", () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "a"));
      await rename(join(folder, "a"), join(folder, ".dormouse-a.old"));
      await mkdir(join(folder, ".dormouse-a.new"));
      await mkdir(join(folder, ".dormouse-b.new"));
      await mkdir(join(folder, "c"));
      await recoverDirectories(folder);
      expect((await readdir(folder)).sort()).toEqual(["a", "c"]);
    }));
});
