import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packInto, restoreFrom, run, withFolder } from "./test-archives.ts";

const long = `${"long-".repeat(45)}name`;

async function makeTree(root: string): Promise<void> {
  await mkdir(join(root, "outputs", "x".repeat(120), "y".repeat(120)), { recursive: true });
  await writeFile(join(root, "outputs", "x".repeat(120), "y".repeat(120), long), "deep");
  await writeFile(join(root, "größe-日本.txt"), "unicode");
  await writeFile(Buffer.concat([Buffer.from(join(root, "raw-")), Buffer.from([0xff, 0x80])]), "raw");
  await writeFile(join(root, "big"), Buffer.alloc(2_500_000, "xyz"));
  await writeFile(join(root, "run.sh"), "#!/bin/sh\n", { mode: 0o755 });
  await symlink(`outputs/${"x".repeat(120)}`, join(root, "link"));
}

async function contentsOf(root: string): Promise<string[]> {
  const { stdout } = await run(
    "sh",
    ["-c", 'cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum', "sh", root],
    {
      encoding: "latin1",
    },
  );
  return stdout.split("\n");
}

const hasPython = spawnSync("python3", ["--version"]).status === 0;
const python = (code: string, ...rest: string[]) => run("python3", ["-c", code, ...rest]);

describe("archives of others", () => {
  it.each(["gnu", "pax", "ustar", "v7"])("that GNU tar makes as %s are restored", (format) =>
    withFolder(async (folder) => {
      const tree = join(folder, "workspace");
      // What the older formats can hold at all.
      if (format === "ustar" || format === "v7") {
        await mkdir(join(tree, "outputs"), { recursive: true });
        await writeFile(join(tree, "outputs/file"), "content");
        await symlink("outputs", join(tree, "link"));
      } else await makeTree(tree);
      await run("tar", ["czf", join(folder, "a"), `--format=${format}`, "-C", folder, "workspace"]);
      await restoreFrom(join(folder, "a"), join(folder, "to"));
      expect(await contentsOf(join(folder, "to"))).toEqual(await contentsOf(tree));
      expect(await readlink(join(folder, "to/link"))).toBe(await readlink(join(tree, "link")));
    }),
  );

  it("that begin with “./” are restored", () =>
    withFolder(async (folder) => {
      await makeTree(join(folder, "in/workspace"));
      await run("tar", ["czf", join(folder, "a"), "-C", join(folder, "in"), "."]);
      await restoreFrom(join(folder, "a"), join(folder, "to"));
      expect(await contentsOf(join(folder, "to"))).toEqual(await contentsOf(join(folder, "in/workspace")));
    }));

  it.runIf(hasPython).each(["USTAR_FORMAT", "GNU_FORMAT", "PAX_FORMAT"])(
    "that Python makes as %s are restored",
    (format) =>
      withFolder(async (folder) => {
        const tree = join(folder, "workspace");
        if (format === "USTAR_FORMAT") {
          await mkdir(tree);
          await writeFile(join(tree, "file"), "content");
        } else await makeTree(tree);
        await python(
          `import tarfile,sys\nwith tarfile.open(sys.argv[1],"w:gz",format=tarfile.${format}) as t: t.add(sys.argv[2],"workspace")`,
          join(folder, "a"),
          tree,
        );
        await restoreFrom(join(folder, "a"), join(folder, "to"));
        expect(await contentsOf(join(folder, "to"))).toEqual(await contentsOf(tree));
      }),
  );

  it("that hold sparse files in GNU's own form are refused, not restored wrongly", () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "workspace"));
      await run("truncate", ["-s", "10M", join(folder, "workspace/sparse")]);
      for (const format of ["gnu", "pax"]) {
        await run("tar", ["czSf", join(folder, "a"), `--format=${format}`, "-C", folder, "workspace"]);
        await expect(restoreFrom(join(folder, "a"), join(folder, "to"))).rejects.toMatchObject({
          kind: "invalid-input",
        });
      }
      expect(await readdir(folder)).not.toContain("to");
    }));
});

describe("our archives", () => {
  it("are read by GNU tar", () =>
    withFolder(async (folder) => {
      await makeTree(join(folder, "from"));
      await packInto(join(folder, "a"), join(folder, "from"));
      const { stdout, stderr } = await run("tar", ["tzf", join(folder, "a")]);
      expect(stdout.split("\n")).toEqual(expect.arrayContaining(["workspace/", "workspace/run.sh", "manifest.json"]));
      await mkdir(join(folder, "to"));
      await run("tar", ["xzf", join(folder, "a"), "-C", join(folder, "to")]);
      expect(await contentsOf(join(folder, "to/workspace"))).toEqual(await contentsOf(join(folder, "from")));
      expect(stderr).toBe("");
    }));

  it.runIf(hasPython)("are read by Python, also with its filter for foreign data", () =>
    withFolder(async (folder) => {
      await makeTree(join(folder, "from"));
      await packInto(join(folder, "a"), join(folder, "from"));
      await python(
        // Where it has one: the filter came with 3.12, and to some older ones later.
        'import tarfile,sys\nfilter={"filter":"data"} if hasattr(tarfile,"data_filter") else {}\nwith tarfile.open(sys.argv[1],"r:gz") as t: t.extractall(sys.argv[2],**filter)',
        join(folder, "a"),
        join(folder, "to"),
      );
      expect(await contentsOf(join(folder, "to/workspace"))).toEqual(await contentsOf(join(folder, "from")));
      expect(JSON.parse(await readFile(join(folder, "to/manifest.json"), "utf8")).version).toBe(1);
    }),
  );

  it("pass gzip's own test", () =>
    withFolder(async (folder) => {
      await makeTree(join(folder, "from"));
      await packInto(join(folder, "a.gz"), join(folder, "from"));
      await run("gzip", ["-t", join(folder, "a.gz")]);
    }));
});
