import { spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileStoreConfig } from "../config.ts";
import { createFileStore } from "./create-file-store.ts";
import type { FileStore } from "./file-store.ts";
import { type StoreKey, storeKey } from "./store-key.ts";
import { bytesOf, collect, inChunks, megabyte, never, readAll, sha256 } from "./test-bytes.ts";

export interface StoreUnderTest {
  store: FileStore;
  config: FileStoreConfig;
  /** Changes one byte of an object behind the store's back. */
  damage(key: StoreKey): Promise<void>;
  /** Stores that take everything and keep other bytes. */
  openLying(): Promise<FileStore[]>;
  /** How much unfinished work lies in the store. */
  countLeftovers(): Promise<number>;
  /** Stores that cannot answer, with limits far shorter than a test may take. */
  openUnavailable(): Promise<FileStore[]>;
  end(): Promise<void>;
}

const part = 8 * megabyte;

/** What every adapter must do, whatever it stands on. */
export function describeFileStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the ${name} store`, () => {
    let under: StoreUnderTest;
    let store: FileStore;
    let count = 0;
    const newKey = () => storeKey("contract", `case-${++count}`, "object.tar.gz");

    beforeAll(async () => {
      under = await open();
      store = under.store;
    });
    afterAll(() => under?.end());

    it.each([0, 1, 65_536, part - 1, part, part + 1, 2 * part, 2 * part + 1])(
      "gives back %i bytes as they were written",
      async (length) => {
        const key = newKey();
        const bytes = bytesOf(length);
        const written = await store.write(key, inChunks(bytes), never);
        expect(written).toMatchObject({ key, bytes: length, sha256: sha256(bytes) });
        expect((await readAll(await store.read(key, { signal: never })))?.equals(bytes)).toBe(true);
        expect(await store.stat(key, never)).toMatchObject({ key, bytes: length });
        expect(await store.verify(key, written, never)).toBe("intact");
        expect(await under.countLeftovers()).toBe(0);
      },
    );

    it("stores 40 MB of a web stream", async () => {
      const key = newKey();
      const bytes = bytesOf(40 * megabyte);
      const body = Readable.toWeb(Readable.from(inChunks(bytes), { objectMode: false })) as ReadableStream<Uint8Array>;
      const written = await store.write(key, body, never);
      expect(written.sha256).toBe(sha256(bytes));
      expect((await readAll(await store.read(key, { signal: never })))?.equals(bytes)).toBe(true);
      // Without the store's own checksum, as a row of an earlier version may be: then the bytes are read.
      const { bytes: length, sha256: digest } = written;
      expect(await store.verify(key, { bytes: length, sha256: digest }, never)).toBe("intact");
    });

    it("waits for a source that gives a byte at a time", async () => {
      const key = newKey();
      const bytes = bytesOf(1000);
      async function* slowly() {
        for (const byte of bytes) {
          await new Promise(setImmediate);
          yield Buffer.of(byte);
        }
      }
      expect((await store.write(key, slowly(), never)).sha256).toBe(sha256(bytes));
    });

    it("keeps what a source gave even if the source uses its buffer again", async () => {
      const key = newKey();
      async function* reusing() {
        const buffer = Buffer.alloc(1000);
        for (let turn = 0; turn < 3; turn++) yield buffer.fill(turn);
      }
      const expected = Buffer.concat([0, 1, 2].map((turn) => Buffer.alloc(1000, turn)));
      expect((await store.write(key, reusing(), never)).sha256).toBe(sha256(expected));
      expect(await readAll(await store.read(key, { signal: never }))).toEqual(expected);
    });

    it.each([100_000, 20 * megabyte])("leaves nothing of a source that fails after %i bytes", async (length) => {
      const key = newKey();
      const failure = Object.assign(new Error("the source broke"), { code: "ENOSPC" });
      async function* breaking() {
        yield* inChunks(bytesOf(length));
        throw failure;
      }
      await expect(store.write(key, breaking(), never)).rejects.toBe(failure);
      expect(await store.stat(key, never)).toBeNull();
      expect(await under.countLeftovers()).toBe(0);
    });

    it("refuses a source that is cut short or gives no bytes", async () => {
      const key = newKey();
      const cut = new PassThrough();
      cut.write(bytesOf(1000));
      setImmediate(() => cut.destroy());
      await expect(store.write(key, cut, never)).rejects.toThrow("Premature close");
      const text = Readable.from(["text"], { objectMode: true });
      await expect(store.write(key, text, never)).rejects.toMatchObject({ kind: "internal" });
      expect(await store.stat(key, never)).toBeNull();
      expect(await under.countLeftovers()).toBe(0);
    });

    it("gives up a source that falls silent, and a write that takes too long", async () => {
      const key = newKey();
      async function* silent() {
        yield* inChunks(bytesOf(9 * megabyte));
        await new Promise(() => {});
      }
      async function* endless() {
        while (true) {
          await new Promise(setImmediate);
          yield bytesOf(1);
        }
      }
      const timeout = { kind: "timeout" };
      const impatient = await createFileStore(under.config, { idleMilliseconds: 500 });
      await expect(impatient.write(key, silent(), never)).rejects.toMatchObject(timeout);
      const hasty = await createFileStore(under.config, { writeMilliseconds: 500 });
      await expect(hasty.write(key, endless(), never)).rejects.toMatchObject(timeout);
      expect(await store.stat(key, never)).toBeNull();
      expect(await under.countLeftovers()).toBe(0);
    });

    it("leaves the old object where a write over it fails", async () => {
      const key = newKey();
      const old = await store.write(key, inChunks(bytesOf(5000)), never);
      async function* breaking() {
        yield* inChunks(bytesOf(9 * megabyte, 2));
        throw new Error("the source broke");
      }
      await expect(store.write(key, breaking(), never)).rejects.toThrow("the source broke");
      expect(await store.verify(key, old, never)).toBe("intact");
    });

    it.each([100_000, 20 * megabyte])("stops when aborted after %i bytes, and ends the source", async (length) => {
      const key = newKey();
      const abort = new AbortController();
      const body = Readable.from(
        (async function* () {
          yield* inChunks(bytesOf(length));
          abort.abort(new Error("not wanted any more"));
          await new Promise(() => {});
        })(),
        { objectMode: false },
      );
      await expect(store.write(key, body, abort.signal)).rejects.toThrow("not wanted any more");
      expect(body.destroyed).toBe(true);
      expect(await store.stat(key, never)).toBeNull();
      expect(await under.countLeftovers()).toBe(0);
    });

    it("does nothing once the signal is aborted", async () => {
      const gone = AbortSignal.abort(new Error("gone"));
      const key = newKey();
      const body = Readable.from(inChunks(bytesOf(10)), { objectMode: false });
      await expect(store.write(key, body, gone)).rejects.toThrow("gone");
      expect(body.destroyed).toBe(true);
      await expect(store.read(key, { signal: gone })).rejects.toThrow("gone");
      await expect(store.stat(key, gone)).rejects.toThrow("gone");
      await expect(store.remove(key, gone)).rejects.toThrow("gone");
      await expect(store.copy(key, newKey(), gone)).rejects.toThrow("gone");
      await expect(collect(store.list(null, gone))).rejects.toThrow("gone");
      await expect(store.sweep({ olderThanMilliseconds: 0, signal: gone })).rejects.toThrow("gone");
    });

    it("shows nothing of a writer that was killed, and sweeps up after it", async () => {
      const key = newKey();
      const script = new URL("./test-endless-write.ts", import.meta.url).pathname;
      const parameters = JSON.stringify({ config: under.config, key, saying: "half-way" });
      const child = spawn(process.execPath, [script, parameters], { stdio: ["pipe", "pipe", "inherit"] });
      await once(child.stdout, "data");
      child.kill("SIGKILL");
      await once(child, "exit");
      expect(await store.stat(key, never)).toBeNull();
      expect(await collect(store.list(storeKey(key), never))).toEqual([]);
      expect(await under.countLeftovers()).toBe(1);
      expect(await store.sweep({ olderThanMilliseconds: 3_600_000, signal: never })).toBe(0);
      expect(await under.countLeftovers()).toBe(1);
      expect(await store.sweep({ olderThanMilliseconds: -5000, signal: never })).toBe(1);
      expect(await under.countLeftovers()).toBe(0);
    });

    it("replaces an object at once for all readers", async () => {
      const key = newKey();
      const versions = [bytesOf(9 * megabyte, 3), bytesOf(3 * megabyte, 4)] as const;
      const known = versions.map(sha256);
      await store.write(key, inChunks(versions[0]), never);
      let writing = true;
      const seen = new Set<string>();
      const reader = async () => {
        while (writing) seen.add(sha256((await readAll(await store.read(key, { signal: never }))) ?? Buffer.of()));
      };
      const readers = [reader(), reader()];
      for (const version of [1, 0, 1, 0, 1] as const) await store.write(key, inChunks(versions[version]), never);
      writing = false;
      await Promise.all(readers);
      expect(known).toEqual(expect.arrayContaining([...seen]));
      expect(seen.size).toBeGreaterThan(0);
      expect(sha256((await readAll(await store.read(key, { signal: never }))) ?? Buffer.of())).toBe(known[1]);
    });

    it("lets one of two writers win, whole", async () => {
      const key = newKey();
      const versions = [bytesOf(9 * megabyte, 5), bytesOf(9 * megabyte, 6)];
      const written = await Promise.all(versions.map((bytes) => store.write(key, inChunks(bytes), never)));
      const verdicts = await Promise.all(written.map((object) => store.verify(key, object, never)));
      expect(verdicts.sort()).toEqual(["damaged", "intact"]);
      expect(await under.countLeftovers()).toBe(0);
    });

    it.each([1000, 17 * megabyte])("notices that one of %i bytes has changed", async (length) => {
      const key = newKey();
      const written = await store.write(key, inChunks(bytesOf(length)), never);
      await under.damage(key);
      expect(await store.verify(key, written, never)).toBe("damaged");
      expect(await store.verify(key, { bytes: length, sha256: written.sha256 }, never)).toBe("damaged");
    });

    it.each([1000, 17 * megabyte])("finds out that %i bytes were kept as others before it says so", async (length) => {
      for (const lying of await under.openLying()) {
        const written = lying.write(newKey(), inChunks(bytesOf(length)), never);
        await expect(written).rejects.toMatchObject({ kind: "upstream" });
        await lying.close();
      }
    });

    it("tells a missing object from a damaged one", async () => {
      const key = newKey();
      const written = await store.write(key, inChunks(bytesOf(100)), never);
      expect(await store.verify(key, { ...written, bytes: 99 }, never)).toBe("damaged");
      await store.remove(key, never);
      expect(await store.verify(key, written, never)).toBe("missing");
    });

    it("has nothing where nothing was written, and removes that without complaint", async () => {
      const key = newKey();
      expect(await store.read(key, { signal: never })).toBeNull();
      expect(await store.stat(key, never)).toBeNull();
      expect(await store.copy(key, newKey(), never)).toBe(false);
      await store.remove(key, never);
      await store.write(key, inChunks(bytesOf(10)), never);
      await store.remove(key, never);
      await store.remove(key, never);
      expect(await store.read(key, { signal: never })).toBeNull();
    });

    it("reads a part of an object", async () => {
      const key = newKey();
      const bytes = bytesOf(300_000);
      await store.write(key, inChunks(bytes), never);
      const read = async (range: { offset: number; length?: number }) =>
        readAll(await store.read(key, { signal: never, range }));
      expect(await read({ offset: 0, length: 1 })).toEqual(bytes.subarray(0, 1));
      expect(await read({ offset: 1000, length: 270_000 })).toEqual(bytes.subarray(1000, 271_000));
      expect(await read({ offset: 299_990 })).toEqual(bytes.subarray(299_990));
      expect(await read({ offset: 299_990, length: 100 })).toEqual(bytes.subarray(299_990));
      for (const range of [{ offset: 300_000 }, { offset: -1 }, { offset: 0, length: 0 }]) {
        await expect(read(range)).rejects.toMatchObject({ kind: "invalid-input" });
      }
    });

    it("ends a stream that is aborted or given up in the middle", async () => {
      const key = newKey();
      await store.write(key, inChunks(bytesOf(12 * megabyte)), never);
      const abort = new AbortController();
      const aborted = await store.read(key, { signal: abort.signal });
      const reading = (async () => {
        for await (const _ of aborted ?? []) abort.abort(new Error("seen enough"));
      })();
      await expect(reading).rejects.toThrow("seen enough");
      const unread = await store.read(key, { signal: never });
      unread?.destroy();
      if (unread) await once(unread, "close");
      expect(unread?.destroyed).toBe(true);
    });

    it.each([2000, 17 * megabyte])("copies %i bytes over another object, and each lives on alone", async (length) => {
      const [from, to] = [newKey(), newKey()];
      const written = await store.write(from, inChunks(bytesOf(length, 7)), never);
      await store.write(to, inChunks(bytesOf(10)), never);
      expect(await store.copy(from, to, never)).toBe(true);
      expect(await store.copy(from, to, never)).toBe(true);
      expect(await store.verify(to, written, never)).toBe("intact");
      expect(await store.copy(to, to, never)).toBe(true);
      await store.write(from, inChunks(bytesOf(20)), never);
      expect(await store.verify(to, written, never)).toBe("intact");
      await store.remove(from, never);
      expect(await store.verify(to, written, never)).toBe("intact");
      expect(await under.countLeftovers()).toBe(0);
    });

    it("lists a folder at every depth, ordered by key, and none beside it", async () => {
      const names = ["a-b/x", "a.b", "a/c/d", "a/b", "a0", "z"];
      for (const name of names) await store.write(storeKey("listed", name), inChunks(bytesOf(3)), never);
      await store.write(storeKey("listed-not", "x"), inChunks(bytesOf(3)), never);
      const keysOf = async (folder: string) =>
        (await collect(store.list(storeKey(folder), never))).map((entry) => entry.key);
      expect(await keysOf("listed")).toEqual(names.map((name) => `listed/${name}`).sort());
      expect(await keysOf("listed/a")).toEqual(["listed/a/b", "listed/a/c/d"]);
      expect(await keysOf("listed/nothing")).toEqual([]);
      const [first] = await collect(store.list(storeKey("listed"), never));
      expect(first).toMatchObject({ bytes: 3, modifiedAt: expect.any(Date) });
      const all = (await collect(store.list(null, never))).map((entry) => entry.key);
      expect(all).toEqual([...all].sort());
      expect(all).toEqual(expect.arrayContaining(["listed-not/x", "listed/a.b"]));
    });

    it("says that it is unavailable when it is, in its time", async () => {
      for (const broken of await under.openUnavailable()) {
        const key = newKey();
        const unavailable = { kind: "unavailable" };
        await expect(broken.write(key, inChunks(bytesOf(10)), never)).rejects.toMatchObject(unavailable);
        await expect(broken.write(key, inChunks(bytesOf(part + 1)), never)).rejects.toMatchObject(unavailable);
        await expect(broken.read(key, { signal: never })).rejects.toMatchObject(unavailable);
        await expect(broken.stat(key, never)).rejects.toMatchObject(unavailable);
        await expect(broken.remove(key, never)).rejects.toMatchObject(unavailable);
        await expect(broken.copy(key, newKey(), never)).rejects.toMatchObject(unavailable);
        await expect(collect(broken.list(null, never))).rejects.toMatchObject(unavailable);
        const verified = broken.verify(key, { bytes: 1, sha256: sha256(Buffer.of(1)) }, never);
        await expect(verified).rejects.toMatchObject(unavailable);
        await expect(broken.sweep({ olderThanMilliseconds: 0, signal: never })).rejects.toMatchObject(unavailable);
        await broken.close();
      }
    });
  });
}
