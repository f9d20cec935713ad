import { spawnSync } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { reachableProgram } from "./reachable-program.ts";

const nobody = { uid: 65_534, gid: 65_534 };
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "dormouse-reachable-"));
  await chmod(root, 0o755);
  await mkdir(join(root, "closed"), { mode: 0o700 });
  await copyFile("/bin/true", join(root, "closed", "program"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe.runIf(process.getuid?.() === 0)("a program for another user", () => {
  const input = () => ({ program: join(root, "closed", "program"), version: "1", directory: join(root, "shared") });

  it("is copied to where they can run it, once", async () => {
    const first = await reachableProgram({ ...input(), user: nobody });
    expect(await reachableProgram({ ...input(), user: nobody })).toBe(first);
    expect(spawnSync(first, { ...nobody }).status).toBe(0);
    expect(await readdir(join(root, "shared"))).toEqual(["program-1"]);
  });

  it("stays where it is when they can run it there", async () => {
    expect(await reachableProgram({ ...input(), program: "/bin/true", user: nobody })).toBe("/bin/true");
    expect(await reachableProgram({ ...input(), user: null })).toBe(input().program);
  });
});
