import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { causes } from "../../protocol/causes.ts";
import { describeFileStore } from "../file-store.contract.ts";
import type { ByteSource } from "../file-store.ts";
import { storeKey } from "../store-key.ts";
import { bytesOf, collect, inChunks, megabyte, never } from "../test-bytes.ts";
import { createFilesystemStore } from "./filesystem.ts";

let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "dormouse-store-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

describeFileStore("filesystem", async () => {
  const root = join(home, "contract");
  return {
    store: createFilesystemStore({ root }),
    config: { kind: "filesystem", root },
    damage: (key) => damageFile(join(root, key)),
    async openLying() {
      const folder = join(home, "lying");
      const store = createFilesystemStore({ root: folder });
      // By the end of its source all of it is on the disk, under a name of its own.
      async function* damaging(body: ByteSource) {
        yield* body;
        for (const name of await readdir(join(folder, ".tmp"))) await damageFile(join(folder, ".tmp", name));
      }
      return [{ ...store, write: (key, body, signal) => store.write(key, damaging(body), signal) }];
    },
    countLeftovers: async () => (await readdir(join(root, ".tmp"))).length,
    async openUnavailable() {
      const file = join(home, "a-file");
      await writeFile(file, "");
      return [createFilesystemStore({ root: join(file, "store") }), createFilesystemStore({ root: file })];
    },
    async end() {},
  };
});

describe("the filesystem store", () => {
  it("reads what it wrote once, to compare it", async () => {
    const store = createFilesystemStore({ root: join(home, "once") });
    const probe = await open(import.meta.filename);
    const read = vi.spyOn(Object.getPrototypeOf(probe), "read");
    await probe.close();
    try {
      await store.write(storeKey("a"), inChunks(bytesOf(3 * megabyte)), never);
      const results = await Promise.all(read.mock.results.map(({ value }) => value as Promise<{ bytesRead: number }>));
      expect(results.reduce((sum, { bytesRead }) => sum + bytesRead, 0)).toBe(3 * megabyte);
    } finally {
      read.mockRestore();
    }
  });

  it("keeps an object at its key, readable by its owner alone", async () => {
    const root = join(home, "plain");
    await createFilesystemStore({ root }).write(storeKey("a/b"), inChunks(bytesOf(5)), never);
    expect((await stat(join(root, "a/b"))).mode & 0o777).toBe(0o600);
    expect((await stat(root)).mode & 0o777).toBe(0o700);
  });

  it("refuses a key that is a folder or lies below an object, and harms neither", async () => {
    const store = createFilesystemStore({ root: join(home, "conflict") });
    await store.write(storeKey("a/b"), inChunks(bytesOf(5)), never);
    for (const key of ["a", "a/b/c"]) {
      const written = store.write(storeKey(key), inChunks(bytesOf(5)), never);
      await expect(written).rejects.toMatchObject({ kind: "conflict" });
      expect(await store.stat(storeKey(key), never)).toBeNull();
      expect(await store.read(storeKey(key), { signal: never })).toBeNull();
      await store.remove(storeKey(key), never);
    }
    expect((await collect(store.list(null, never))).map((entry) => entry.key)).toEqual(["a/b"]);
    expect(await readdir(join(home, "conflict", ".tmp"))).toEqual([]);
  });

  it("takes empty folders away with the last object, though not from under a writer", async () => {
    const root = join(home, "folders");
    const store = createFilesystemStore({ root });
    const keys = Array.from({ length: 6 }, (_, number) => storeKey("deep/er", `object-${number}`));
    for (let round = 0; round < 10; round++) {
      const work = keys.map(async (key) => {
        await store.write(key, inChunks(bytesOf(5)), never);
        await store.remove(key, never);
      });
      await Promise.all(work);
    }
    expect(await readdir(root)).toEqual([".tmp"]);
  });

  it("is unavailable, not empty, when its disk has gone away", async () => {
    const root = join(home, "mounted");
    const store = createFilesystemStore({ root });
    await store.write(storeKey("a/b"), inChunks(bytesOf(5)), never);
    await rename(root, `${root}-away`);
    const unavailable = { kind: "unavailable" };
    await expect(store.read(storeKey("a/b"), { signal: never })).rejects.toMatchObject(unavailable);
    await expect(store.stat(storeKey("a/b"), never)).rejects.toMatchObject(unavailable);
    await expect(store.write(storeKey("a/c"), inChunks(bytesOf(5)), never)).rejects.toMatchObject(unavailable);
    await rename(`${root}-away`, root);
    expect(await store.stat(storeKey("a/b"), never)).not.toBeNull();
  });

  // A small disk is mounted in a namespace of its own, as sandboxes are.
  it.skipIf(process.env.DORMOUSE_TEST_WITHOUT_BUBBLEWRAP === "1")(
    "says so when the disk is full, and leaves nothing on it",
    async () => {
      const script = `
      import { createFilesystemStore } from ${JSON.stringify(new URL("./filesystem.ts", import.meta.url).href)};
      import { readdir } from "node:fs/promises";
      const root = process.argv[1];
      const body = (async function* () { for (let i = 0; i < 64; i++) yield Buffer.alloc(65536); })();
      const signal = new AbortController().signal;
      const error = await createFilesystemStore({ root }).write("a/b", body, signal).catch((error) => error);
      console.log(JSON.stringify({ kind: error.kind, message: error.message, left: await readdir(root + "/.tmp") }));
    `;
      const disk = await mkdtemp(join(home, "disk-"));
      const mounted = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" --input-type=module -e "$3" "$1"';
      const child = spawn("unshare", ["-rm", "sh", "-c", mounted, "sh", disk, process.execPath, script], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [output] = await once(child.stdout, "data");
      expect(JSON.parse(String(output))).toEqual({
        kind: "unavailable",
        message: causes["store-full"].message,
        left: [],
      });
    },
  );
});

async function damageFile(path: string): Promise<void> {
  const handle = await open(path, "r+");
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, 500);
  await handle.write(Buffer.of((buffer[0] ?? 0) ^ 1), 0, 1, 500);
  await handle.close();
}
