import { Worker } from "node:worker_threads";
import type { ToldStatus } from "./fingerprint.ts";
import { fileFlags } from "./write-entry-file.ts";

interface WrittenFile {
  path: string;
  mode: number;
  modifiedAt: number;
  body: Buffer;
  /** Called later, with what stands there then. */
  onWritten(status: ToldStatus): void;
}

/**
 * Writes small files in a thread of its own, beside whoever makes them. Each goes where nothing is yet.
 * Bodies are copied into a few shared slots; where none is free the thread is behind, and the caller does better
 * to write the file itself. To be closed: nothing is written any more from then on.
 */
export interface FileWriter {
  hasRoom(bytes: number): boolean;
  /** Only where there is room. Throws when one before it could not be written. */
  write(file: WrittenFile): void;
  /** Whether there is something to wait for. */
  readonly isBusy: boolean;
  /** All of them stand; throws when one could not be written. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

interface Slot {
  bytes: Buffer;
  used: number;
  files: WrittenFile[];
}

/** What the thread has done of a batch. */
type Answer = { slot: number; statuses: Float64Array } | { error: { code: string; syscall: string; message: string } };

const slotCount = 6;
const slotBytes = 512 * 1024;
/** Small enough that the thread has something to do early. */
const batchBytes = 192 * 1024;
const maxFiles = 64;
/** A thread costs tens of milliseconds on some core: it is not worth it for few files, unless each takes long. */
const beforeThread = { files: 100, milliseconds: 50, maxFiles: 800 };

/** Where no thread can be had the caller writes everything. */
export function createFileWriter(program: string = writeProgram): FileWriter {
  const slots: Slot[] = [];
  const free: Slot[] = [];
  let offered = 0;
  let firstAt = 0;
  let thread: Worker | null = null;
  let isGone = false;
  let filling: Slot | null = null;
  let underway = 0;
  let wasUsed = false;
  let failure: Error | null = null;
  let onIdle = () => {};

  function isWorthAThread(): boolean {
    firstAt ||= performance.now();
    const { files, milliseconds, maxFiles } = beforeThread;
    return offered >= maxFiles || (offered >= files && performance.now() - firstAt > milliseconds);
  }

  function startIfPossible(): Worker | null {
    try {
      return start();
    } catch {
      isGone = true;
      return null;
    }
  }

  function start(): Worker {
    for (let index = 0; index < slotCount; index += 1) {
      slots.push({ bytes: Buffer.from(new SharedArrayBuffer(slotBytes)), used: 0, files: [] });
    }
    const workerData = { flags: fileFlags, slots: slots.map(({ bytes }) => bytes) };
    const worker = new Worker(program, { eval: true, workerData });
    // Until it runs the caller writes, and has nothing to wait for at the end.
    worker.once("online", () => free.push(...slots));
    worker.on("message", finishSlot);
    worker.once("error", end);
    worker.once("exit", () => end(new Error("the thread that writes files has ended")));
    return worker;
  }

  /** Of no harm while nothing was handed over. */
  function end(error: Error): void {
    isGone = true;
    free.length = 0;
    if (isBusy()) fail(error);
  }

  function isBusy(): boolean {
    return underway > 0 || (filling?.files.length ?? 0) > 0;
  }

  function finishSlot(answer: Answer): void {
    if ("error" in answer) {
      fail(Object.assign(new Error(answer.error.message), answer.error));
      return;
    }
    const slot = slots[answer.slot] as Slot;
    for (const [index, file] of slot.files.entries()) {
      const [mode = 0, size = 0, mtimeMs = 0, ctimeMs = 0] = answer.statuses.subarray(index * 4);
      file.onWritten({ mode, size, mtimeMs, ctimeMs });
    }
    slot.files = [];
    slot.used = 0;
    free.push(slot);
    underway -= 1;
    if (underway === 0) onIdle();
  }

  function fail(error: Error): void {
    failure ??= error;
    onIdle();
  }

  function send(): void {
    if (!filling) return;
    const files = filling.files.map(({ path, mode, modifiedAt, body }) => [path, mode, modifiedAt, body.length]);
    thread?.postMessage({ slot: slots.indexOf(filling), files });
    underway += 1;
    wasUsed = true;
    filling = null;
  }

  return {
    hasRoom(bytes) {
      if (isGone) return false;
      if (!thread) {
        offered += 1;
        if (!isWorthAThread()) return false;
        thread = startIfPossible();
      }
      if (filling && filling.used + bytes > slotBytes) send();
      filling ??= free.pop() ?? null;
      return filling !== null;
    },
    write(file) {
      if (failure) throw failure;
      if (!filling) throw new Error("there is no room for the file");
      file.body.copy(filling.bytes, filling.used);
      filling.used += file.body.length;
      filling.files.push(file);
      if (filling.used >= batchBytes || filling.files.length >= maxFiles) send();
    },
    get isBusy() {
      return isBusy();
    },
    async drain() {
      if (filling?.files.length) send();
      if (underway > 0 && !failure) await new Promise<void>((resolve) => (onIdle = resolve));
      if (failure) throw failure;
    },
    async close() {
      const ended = thread?.terminate();
      // One that was given nothing writes nothing.
      if (wasUsed) await ended;
    },
  };
}

/** As `writeEntryFile` does it. */
const writeProgram = `
  const { closeSync, fchmodSync, fstatSync, futimesSync, openSync, writeSync } = require("node:fs");
  const { parentPort, workerData } = require("node:worker_threads");
  const slots = workerData.slots.map(({ buffer }) => Buffer.from(buffer));

  function write(bytes, start, [path, mode, modifiedAt, length]) {
    const descriptor = openSync(path, workerData.flags, mode);
    try {
      for (let at = 0; at < length; ) at += writeSync(descriptor, bytes, start + at, length - at);
      futimesSync(descriptor, modifiedAt, modifiedAt);
      const status = fstatSync(descriptor);
      if ((status.mode & 0o777) === mode) return status;
      fchmodSync(descriptor, mode);
      return fstatSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  parentPort.on("message", ({ slot, files }) => {
    const statuses = new Float64Array(files.length * 4);
    let start = 0;
    try {
      for (const [index, file] of files.entries()) {
        const { mode, size, mtimeMs, ctimeMs } = write(slots[slot], start, file);
        statuses.set([mode, size, mtimeMs, ctimeMs], index * 4);
        start += file[3];
      }
      parentPort.postMessage({ slot, statuses });
    } catch ({ code, syscall, message }) {
      parentPort.postMessage({ error: { code, syscall, message } });
    }
  });
`;
