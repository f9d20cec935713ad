import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, link, open, readdir, rm, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { AppError, faultError } from "../../errors.ts";
import { bounded } from "../../lib/bounded.ts";
import { boundedWrite, pull, toByteStream } from "../byte-streams.ts";
import {
  type ByteSource,
  defaultLimits,
  type FileStore,
  type ReadOptions,
  type StoredEntry,
  type StoredObject,
  type StoreLimits,
} from "../file-store.ts";
import type { StoreKey } from "../store-key.ts";
import { makeFolder, publish, removeEmptyFolders, syncFolder } from "./durable-files.ts";
import { codeOf, filesystemError, isAbsent, lateDisk } from "./filesystem-error.ts";
import { listFolder } from "./list-folder.ts";

export interface FilesystemStoreOptions {
  root: string;
  limits?: Partial<StoreLimits> | undefined;
}

const chunkBytes = 256 * 1024;

/**
 * An object is a file at its key below the root, never changed once it has its name. It grows under `.tmp`,
 * which no key can name, is flushed, read back, and then renamed over what was there before: a reader sees
 * the old one or the new one, and a killed writer leaves nothing but a file that `sweep` finds.
 */
export function createFilesystemStore(options: FilesystemStoreOptions): FileStore {
  const root = resolve(options.root);
  const limits = { ...defaultLimits, ...options.limits };
  const temporaryFolder = join(root, ".tmp");
  const pathOf = (key: StoreKey) => join(root, key);

  /** Every touch of the disk goes through here: a network disk may never answer. */
  async function call<Result>(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<Result>,
    milliseconds = limits.callMilliseconds,
  ): Promise<Result> {
    try {
      return await bounded(work, { signal, milliseconds, late: lateDisk });
    } catch (error) {
      throw filesystemError(error, signal);
    }
  }

  // A handle closes only after what it is doing; on a disk that hangs, that is never.
  const close = (handle: FileHandle) => call(new AbortController().signal, () => handle.close());

  async function withTemporary(signal: AbortSignal, fill: (path: string) => Promise<void>): Promise<void> {
    const temporary = join(temporaryFolder, randomUUID());
    await requireRoot(signal);
    try {
      await fill(temporary);
    } finally {
      // Also after success: renaming one name of a file over another of the same file leaves both.
      await call(new AbortController().signal, () => rm(temporary, { force: true })).catch(() => {});
    }
  }

  async function writeTemporary(path: string, body: ByteSource, signal: AbortSignal) {
    const hash = createHash("sha256");
    let bytes = 0;
    const chunks = pull(body, { signal, idleMilliseconds: limits.idleMilliseconds });
    const handle = await call(signal, (inner) => openFile(path, "wx", inner));
    try {
      for await (const chunk of chunks) {
        hash.update(chunk);
        await call(signal, () => writeWhole(handle, chunk));
        bytes += chunk.byteLength;
      }
      await call(signal, () => handle.sync(), limits.finishMilliseconds);
    } finally {
      await chunks.return();
      await close(handle);
    }
    return { bytes, sha256: hash.digest("hex") };
  }

  async function write(key: StoreKey, body: ByteSource, signal: AbortSignal): Promise<StoredObject> {
    let written: Pick<StoredObject, "bytes" | "sha256"> | undefined;
    await withTemporary(signal, async (temporary) => {
      written = await writeTemporary(temporary, body, signal);
      const found = await digest(temporary, signal);
      if (found?.sha256 !== written.sha256 || found.bytes !== written.bytes) {
        throw faultError("store-damaged", { cause: new Error("Other bytes than those written") });
      }
      await call(signal, () => publish(temporary, pathOf(key)), limits.finishMilliseconds);
    });
    if (!written) throw new AppError("internal", "Nothing was written");
    return { key, ...written, checksum: null };
  }

  async function openObject(path: string, signal: AbortSignal): Promise<{ handle: FileHandle; bytes: number } | null> {
    const handle = await call(signal, (inner) => openFile(path, "r", inner).catch(nullIfAbsent));
    const found = handle && (await call(signal, () => handle.stat()).catch(closeAndThrow(handle)));
    if (handle && found?.isFile()) return { handle, bytes: found.size };
    if (handle) await close(handle);
    await requireRoot(signal);
    return null;
  }

  // A root that is gone, as that of an unmounted disk, must not read like an object that is gone.
  let rootSeen = false;
  async function requireRoot(signal: AbortSignal): Promise<void> {
    try {
      await call(signal, async () => void (rootSeen ? await stat(temporaryFolder) : await makeFolder(temporaryFolder)));
      rootSeen = true;
    } catch (error) {
      signal.throwIfAborted();
      throw faultError("store-missing", { cause: error });
    }
  }

  async function digest(path: string, signal: AbortSignal) {
    const opened = await openObject(path, signal);
    if (!opened) return null;
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(4 * chunkBytes);
    let bytes = 0;
    try {
      while (true) {
        const { bytesRead } = await call(signal, () => opened.handle.read(buffer, 0, buffer.length, bytes));
        if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
        hash.update(buffer.subarray(0, bytesRead));
        bytes += bytesRead;
      }
    } finally {
      await close(opened.handle);
    }
  }

  async function read(key: StoreKey, { signal, range }: ReadOptions) {
    const opened = await openObject(pathOf(key), signal);
    if (!opened) return null;
    const { handle, bytes } = opened;
    if (range && (range.offset >= bytes || range.offset < 0 || (range.length ?? 1) < 1)) {
      await close(handle);
      throw new AppError("invalid-input", "That range lies outside the object");
    }
    let position = range?.offset ?? 0;
    const end = Math.min(bytes, position + (range?.length ?? bytes));
    return toByteStream({
      signal,
      close: () => close(handle),
      async next() {
        if (position >= end) return null;
        const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, end - position));
        const { bytesRead } = await call(signal, () => handle.read(buffer, 0, buffer.length, position));
        if (bytesRead === 0) throw faultError("store-damaged", { cause: new Error("Shorter than it was") });
        position += bytesRead;
        return buffer.subarray(0, bytesRead);
      },
    });
  }

  return {
    write: (key, body, signal) =>
      boundedWrite({ body, signal, milliseconds: limits.writeMilliseconds }, (inner) => write(key, body, inner)),
    read,
    async stat(key, signal): Promise<StoredEntry | null> {
      const found = await call(signal, () => stat(pathOf(key)).catch(nullIfAbsent));
      if (found?.isFile()) return { key, bytes: found.size, modifiedAt: found.mtime };
      await requireRoot(signal);
      return null;
    },
    async *list(folder, signal) {
      await requireRoot(signal);
      yield* listFolder({ root, folder, call: (work) => call(signal, work) });
    },
    async copy(from, to, signal) {
      let linked = true;
      await withTemporary(signal, async (temporary) => {
        try {
          // An object never changes in place, so two names for the same bytes are a copy that costs nothing.
          linked = await call(signal, () => linkFile(pathOf(from), temporary));
          if (linked) await call(signal, () => publish(temporary, pathOf(to)), limits.finishMilliseconds);
        } catch (error) {
          if (!["EPERM", "ENOTSUP", "EMLINK", "EXDEV"].includes(codeOf((error as Error).cause) ?? "")) throw error;
          const body = await read(from, { signal });
          linked = body !== null;
          if (body) await write(to, body, signal);
        }
      });
      return linked;
    },
    async verify(key, expected, signal) {
      const found = await digest(pathOf(key), signal);
      if (!found) return "missing";
      return found.bytes === expected.bytes && found.sha256 === expected.sha256 ? "intact" : "damaged";
    },
    async remove(key, signal) {
      const path = pathOf(key);
      const removed = await call(signal, () => removeFile(path));
      if (!removed) return requireRoot(signal);
      await call(signal, () => removeEmptyFolders(dirname(path), root));
    },
    async sweep({ olderThanMilliseconds, signal }) {
      const before = Date.now() - olderThanMilliseconds;
      let removed = 0;
      await requireRoot(signal);
      for (const name of await call(signal, () => readdir(temporaryFolder))) {
        const path = join(temporaryFolder, name);
        const found = await call(signal, () => stat(path)).catch(() => null);
        if (!found || found.mtimeMs > before) continue;
        await call(signal, () => rm(path, { force: true, recursive: true }));
        removed++;
      }
      return removed;
    },
    async close() {},
  };
}

// An open that comes too late has nobody left to close it.
async function openFile(path: string, flags: "r" | "wx", signal: AbortSignal): Promise<FileHandle> {
  const handle = await open(path, flags, 0o600);
  if (!signal.aborted) return handle;
  await handle.close();
  throw signal.reason;
}

function closeAndThrow(handle: FileHandle) {
  return async (error: unknown): Promise<never> => {
    await handle.close();
    throw error;
  };
}

function nullIfAbsent(error: unknown): null {
  if (isAbsent(error)) return null;
  throw error;
}

async function writeWhole(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  let written = 0;
  while (written < chunk.byteLength) written += (await handle.write(chunk, written)).bytesWritten;
}

async function removeFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(nullIfAbsent);
  if (!found?.isFile()) return false;
  await unlink(path).catch(nullIfAbsent);
  await syncFolder(dirname(path)).catch(nullIfAbsent);
  return true;
}

async function linkFile(from: string, to: string): Promise<boolean> {
  const found = await stat(from).catch(nullIfAbsent);
  if (!found?.isFile()) return false;
  await link(from, to);
  return true;
}
