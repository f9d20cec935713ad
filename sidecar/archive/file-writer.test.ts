import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as soon } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../test-sidecar.ts";
import { createFileWriter, type FileWriter } from "./file-writer.ts";
import { withFolder } from "./test-archives.ts";

const plain = { mode: 0o644, modifiedAt: 1_600_000_000, onWritten() {} };

async function withWriter(use: (writer: FileWriter, folder: string, thread: Worker) => Promise<void>): Promise<void> {
  const writer = createFileWriter();
  const started = once(process, "worker");
  try {
    await withFolder(async (folder) => {
      // It takes many files before a thread is started for them.
      for (let asked = 0; asked < 2_000; asked += 1) writer.hasRoom(1);
      await waitUntil(async () => writer.hasRoom(1), "a thread that writes");
      const [thread] = await started;
      await use(writer, folder, thread);
    });
  } finally {
    await writer.close();
  }
}

/** What comes when there is no room is left to the caller, as it is meant to be. */
async function writeAll(writer: FileWriter, files: Parameters<FileWriter["write"]>[0][]): Promise<void> {
  for (const file of files) {
    while (!writer.hasRoom(file.body.length)) await soon();
    writer.write(file);
  }
  await writer.drain();
}

describe("a thread that writes files", () => {
  it("writes each with its content, mode and time, and tells what stands there", () =>
    withWriter(async (writer, folder) => {
      const told = new Map<string, number>();
      const files = Array.from({ length: 200 }, (_, index) => ({
        path: join(folder, String(index)),
        // Some that no umask lets pass, some that nobody may write to.
        mode: [0o644, 0o777, 0o444, 0o600][index % 4] as number,
        modifiedAt: 1_600_000_000 + index,
        body: Buffer.alloc(index * 100, String(index)),
        onWritten: ({ mode, size, mtimeMs, ctimeMs }: Record<string, number>) => {
          const status = statSync(join(folder, String(index)));
          expect({ mode, size, mtimeMs, ctimeMs }).toEqual({
            mode: status.mode,
            size: status.size,
            mtimeMs: status.mtimeMs,
            ctimeMs: status.ctimeMs,
          });
          told.set(String(index), told.size);
        },
      }));
      await writeAll(writer, files);
      expect([...told.keys()]).toEqual(files.map((_, index) => String(index)));
      for (const { path, body, mode, modifiedAt } of files) {
        expect(readFileSync(path).equals(body)).toBe(true);
        expect(statSync(path).mode & 0o777).toBe(mode);
        expect(statSync(path).mtimeMs).toBe(modifiedAt * 1_000);
      }
    }));

  it("has room for a while only, and again when it has caught up", () =>
    withWriter(async (writer, folder) => {
      let written = 0;
      // Nothing is heard of the thread in between.
      for (; writer.hasRoom(200_000); written += 1) {
        if (written > 1_000) throw new Error("there is always room");
        writer.write({ ...plain, path: join(folder, String(written)), body: Buffer.alloc(200_000) });
      }
      await writer.drain();
      expect(writer.isBusy).toBe(false);
      expect(writer.hasRoom(200_000)).toBe(true);
      expect((await readdir(folder)).length).toBe(written);
    }));

  it("replaces nothing, and says so", () =>
    withWriter(async (writer, folder) => {
      const path = join(folder, "taken");
      writeFileSync(path, "before");
      const write = writeAll(writer, [{ ...plain, path, body: Buffer.from("after") }]);
      await expect(write).rejects.toMatchObject({ code: "EEXIST", syscall: "open" });
      expect(readFileSync(path, "utf8")).toBe("before");
      const next = { ...plain, path: join(folder, "next"), body: Buffer.from("next") };
      expect(() => writer.write(next)).toThrow(expect.objectContaining({ code: "EEXIST" }));
      expect(await readdir(folder)).toEqual(["taken"]);
    }));

  it("has ended once it is closed, whatever it had still to write", () =>
    withWriter(async (writer, folder, thread) => {
      await mkdir(join(folder, "in"));
      for (let index = 0; writer.hasRoom(100); index += 1) {
        writer.write({ ...plain, path: join(folder, "in", String(index)), body: Buffer.alloc(100) });
      }
      await writer.close();
      expect(thread.threadId).toBe(-1);
      await expect(writer.drain()).rejects.toThrow("ended");
    }));

  it("is missed by nobody when it ends before it was given anything", async () => {
    const writer = createFileWriter("process.exit(1)");
    const started = once(process, "worker");
    for (let asked = 0; asked < 2_000; asked += 1) writer.hasRoom(1);
    const [thread] = await started;
    await once(thread, "exit");
    expect(writer.hasRoom(1)).toBe(false);
    await writer.drain();
    await writer.close();
  });

  it("is missed when it ends with something that it was given", async () => {
    const writer = createFileWriter("require('node:worker_threads').parentPort.on('message', () => process.exit(1))");
    for (let asked = 0; asked < 2_000; asked += 1) writer.hasRoom(1);
    await waitUntil(async () => writer.hasRoom(1), "a thread");
    writer.write({ ...plain, path: "/nowhere/at/all", body: Buffer.from("x") });
    await expect(writer.drain()).rejects.toThrow("ended");
    await writer.close();
  });
});
