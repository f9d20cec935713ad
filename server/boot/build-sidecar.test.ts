import { spawnSync } from "node:child_process";
import { cp, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildSidecar } from "./build-sidecar.ts";

const clone = resolve(import.meta.dirname, "../..");

describe("building the sidecar", () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "dormouse-build-"));
    await cp(join(clone, "sidecar"), join(root, "sidecar"), { recursive: true });
    await cp(join(clone, "server/protocol"), join(root, "server/protocol"), { recursive: true });
    await symlink(join(clone, "node_modules"), join(root, "node_modules"));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it("makes one file that runs alone and says what is missing of its launch, without repeating it", async () => {
    const path = await buildSidecar(root);
    const alone = join(await mkdtemp(join(root, "alone-")), "sidecar.mjs");
    await cp(path, alone);
    const input = JSON.stringify({ sandboxToken: 17, bootSecret: "a-secret" });
    const { status, stderr } = spawnSync(process.execPath, [alone], { input, encoding: "utf8", timeout: 20_000 });
    expect(status).toBe(2);
    expect(stderr).toContain("cannot start: not valid: sandboxId, bootId");
    expect(stderr).not.toContain("a-secret");
  });

  it("leaves an unchanged file alone and replaces a changed one", async () => {
    const path = await buildSidecar(root);
    const { ino } = await stat(path);
    await buildSidecar(root);
    expect((await stat(path)).ino).toBe(ino);
    await writeFile(path, "old");
    await buildSidecar(root);
    expect((await stat(path)).size).toBeGreaterThan(10_000);
    expect((await stat(path)).ino).not.toBe(ino);
  });
});
