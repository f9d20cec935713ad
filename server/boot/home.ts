import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm, statfs, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BootError } from "./boot-error.ts";
import { type ProcessLock, tryLock } from "./process-lock.ts";
import { isProcessAlive } from "./processes.ts";

/**
 * The directory that holds everything of this Dormouse. One process owns it at a time, by a lock that
 * dies with it; `server.json` beside the lock only tells others who that is, and is never trusted for more.
 */
export interface Home {
  readonly path: string;
  /** Tells a second start where this one answers. */
  announce(url: string): Promise<void>;
  /** From now on a second start waits for this one to end. */
  announceStop(): Promise<void>;
  release(): Promise<void>;
}

export interface HomeOptions {
  path: string;
  signal: AbortSignal;
  /** The process that launched this one; when it is gone, this one is about to end. */
  launcherPid?: number | null;
  minimumFreeBytes?: number;
  waitMilliseconds?: number;
}

export async function openHome(options: HomeOptions): Promise<Home> {
  const { path, signal, launcherPid = null, minimumFreeBytes = 200 * megabyte, waitMilliseconds = 10_000 } = options;
  await createHome(path);
  await requireFreeSpace(path, minimumFreeBytes);
  await requireWritable(path);
  const lock = await takeLock({ path, signal, waitMilliseconds });
  const holder: Holder = {
    pid: process.pid,
    launcherPid,
    url: null,
    startedAt: new Date().toISOString(),
    stopping: false,
  };
  const write = (change: Partial<Holder>) => writeHolder(path, Object.assign(holder, change));
  try {
    await write({});
  } catch (error) {
    lock.release();
    throw error;
  }
  return {
    path,
    announce: (url) => write({ url }),
    announceStop: () => write({ stopping: true }),
    async release() {
      await rm(join(path, "server.json"), { force: true });
      lock.release();
    },
  };
}

interface Holder {
  pid: number;
  launcherPid: number | null;
  url: string | null;
  startedAt: string;
  stopping: boolean;
}

const megabyte = 1024 * 1024;

async function createHome(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    // Root's Postgres and sandboxes run as other users, who must pass through, though not look around.
    await chmod(path, process.getuid?.() === 0 ? 0o711 : 0o700);
  } catch (error) {
    throw homeError(path, error);
  }
}

async function requireFreeSpace(path: string, minimum: number): Promise<void> {
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  if (free >= minimum) return;
  throw new BootError(
    `The disk that holds Dormouse's data is full: ${path} has ${toMegabytes(free)} MB free, and starting needs at least ${toMegabytes(minimum)} MB.
Free some space, or set DORMOUSE_HOME to a directory on another disk.`,
  );
}

function toMegabytes(bytes: number): number {
  return Math.floor(bytes / megabyte);
}

async function requireWritable(path: string): Promise<void> {
  const probe = join(path, `.probe-${randomUUID()}`);
  try {
    const file = await open(probe, "wx", 0o600);
    try {
      await file.writeFile("dormouse");
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw homeError(path, error);
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
}

function homeError(path: string, error: unknown): Error {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new BootError(
      `The disk that holds Dormouse's data is full: nothing can be written to ${path}.
Free some space, or set DORMOUSE_HOME to a directory on another disk.`,
      { cause: error },
    );
  }
  const { username } = userInfo();
  return new BootError(
    `Dormouse cannot write to its data directory ${path} as user ${username} (${code || String(error)}).
Make it writable (chown ${username} ${path}), or set DORMOUSE_HOME to a directory that is.`,
    { cause: error },
  );
}

async function takeLock(options: {
  path: string;
  signal: AbortSignal;
  waitMilliseconds: number;
}): Promise<ProcessLock> {
  const { path, signal, waitMilliseconds } = options;
  const deadline = Date.now() + waitMilliseconds;
  for (;;) {
    const lock = tryLock(join(path, "lock.sqlite"));
    if (lock) return lock;
    const holder = await readHolder(path);
    if (Date.now() >= deadline || !isEnding(holder)) throw heldError(path, holder);
    await sleep(100, undefined, { signal });
  }
}

// A dead pid beside a held lock is a predecessor's note that the holder has not replaced yet.
function isEnding(holder: Holder | null): boolean {
  if (!holder || !isProcessAlive(holder.pid)) return true;
  return holder.stopping || (holder.launcherPid !== null && !isProcessAlive(holder.launcherPid));
}

function heldError(path: string, holder: Holder | null): BootError {
  const who = holder ? `pid ${holder.pid} ${holder.url ? `at ${holder.url}` : "(still starting)"}` : "another process";
  return new BootError(
    `Dormouse is already running with this data directory: ${who}. Use that one, stop it first, or set DORMOUSE_HOME to a directory other than ${path}.`,
  );
}

async function readHolder(path: string): Promise<Holder | null> {
  try {
    return JSON.parse(await readFile(join(path, "server.json"), "utf8")) as Holder;
  } catch {
    return null;
  }
}

async function writeHolder(path: string, holder: Holder): Promise<void> {
  const target = join(path, "server.json");
  await writeFile(`${target}.new`, `${JSON.stringify(holder, null, 2)}\n`, { mode: 0o600 });
  await rename(`${target}.new`, target);
}
