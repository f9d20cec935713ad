import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deriveKey, loadMasterKey } from "./master-key.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "dormouse-key-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));
const load = () => loadMasterKey({ home, configured: { kind: "file" } });
const loadAndKeep = async () => {
  const { key, keep } = await load();
  await keep();
  return key;
};

describe("the master key", () => {
  it("is made once, for its owner's eyes only, and read again", async () => {
    const key = await loadAndKeep();
    expect(key).toHaveLength(32);
    expect(await loadAndKeep()).toEqual(key);
    expect((await stat(join(home, "master-key"))).mode & 0o777).toBe(0o600);
    expect(await readdir(home)).toEqual(["master-key"]);
  });

  it("is in no file before somebody needs it again", async () => {
    await load();
    expect(await readdir(home)).toEqual([]);
  });

  it("is taken from the environment without leaving a file", async () => {
    const key = Buffer.alloc(32, 7);
    const loaded = await loadMasterKey({ home, configured: { kind: "environment", key } });
    await loaded.keep();
    expect(loaded.key).toBe(key);
    expect(await readdir(home)).toEqual([]);
  });

  it.each(["", "c2hvcnQ=", "not base64 at all !!"])("is never replaced when the file holds %j", async (content) => {
    await writeFile(join(home, "master-key"), content);
    await expect(load()).rejects.toThrow("is damaged");
    expect(await readFile(join(home, "master-key"), "utf8")).toBe(content);
  });

  it.skipIf(process.getuid?.() === 0)("is named when it cannot be read", async () => {
    await loadAndKeep();
    await chmod(join(home, "master-key"), 0);
    await expect(load()).rejects.toThrow("cannot be read (EACCES)");
  });

  it("gives independent keys for different purposes", () => {
    const master = Buffer.alloc(32, 1);
    expect(deriveKey(master, "a")).toEqual(deriveKey(master, "a"));
    expect(deriveKey(master, "a")).not.toEqual(deriveKey(master, "b"));
    expect(deriveKey(master, "a")).not.toEqual(deriveKey(Buffer.alloc(32, 2), "a"));
  });
});
