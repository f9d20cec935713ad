import { spawn, spawnSync } from "node:child_process";
import { closeSync, openSync, readlinkSync, realpathSync } from "node:fs";
import { readFile, rename, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { BootError } from "../boot-error.ts";
import { isProcessAlive, signalProcess, waitUntil } from "../processes.ts";
import type { ClusterPaths } from "./cluster-paths.ts";
import type { Passwords } from "./passwords.ts";
import { databaseUrl } from "./url.ts";

/** A running Postgres: our child, or one that outlived an earlier start and was adopted. */
export interface Postmaster {
  readonly port: number;
  /** Resolves when the process is gone, for whatever reason. */
  readonly ended: Promise<void>;
  stop(options?: { graceMilliseconds?: number }): Promise<void>;
}

const startMilliseconds = 30_000;
const freePortAttempts = 3;

export async function startPostmaster(options: {
  paths: ClusterPaths;
  passwords: Passwords;
  logFile: string;
  /** That of an earlier life, which connections are to find again. */
  port?: number;
  signal: AbortSignal;
}): Promise<Postmaster> {
  const { paths, passwords, logFile, signal } = options;
  await rotate(logFile);
  // Between finding a free port and using it, somebody else may take it.
  const attempts = options.port === undefined ? freePortAttempts : 1;
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePort());
    const postmaster = spawnPostmaster({ paths, port, logFile });
    const state = await waitUntilReady({ postmaster, passwords, signal });
    if (state === "ready") return postmaster;
    await postmaster.stop({ graceMilliseconds: 2000 });
    signal.throwIfAborted();
    if (state === "late" || attempt === attempts) throw await describeFailure({ paths, logFile, state });
  }
}

/** Null when none runs for this data; what a dead one left behind is removed. */
export async function adoptPostmaster(options: {
  paths: ClusterPaths;
  passwords: Passwords;
  onProgress: (line: string) => void;
}): Promise<Postmaster | null> {
  const { paths, passwords, onProgress } = options;
  const file = await readPostmasterFile(paths.data);
  if (!file) return null;
  if (!isOurs(file.pid, paths.data)) {
    await rm(join(paths.data, "postmaster.pid"), { force: true });
    return null;
  }
  const postmaster = adopt(file.pid, file.port ?? 0, paths.data);
  const ready =
    file.port !== null && (await waitUntilReady({ postmaster, passwords, milliseconds: 10_000 })) === "ready";
  if (ready) {
    onProgress(`Found the embedded Postgres of an earlier start (pid ${file.pid}) and took it over`);
    return postmaster;
  }
  onProgress(`Stopping the embedded Postgres of an earlier start (pid ${file.pid}), which does not answer`);
  await postmaster.stop();
  return null;
}

/** What Postgres says about itself in postmaster.pid; the port is missing in its first moments. */
export async function readPostmasterFile(data: string): Promise<{ pid: number; port: number | null } | null> {
  try {
    const lines = (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n");
    return { pid: Math.abs(Number(lines[0])), port: Number(lines[3]) || null };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function spawnPostmaster({ paths, port, logFile }: { paths: ClusterPaths; port: number; logFile: string }): Postmaster {
  const log = openSync(logFile, "a", 0o600);
  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: "100",
    timezone: "UTC",
    log_timezone: "UTC",
    log_line_prefix: "%m [%p] ",
  };
  const child = spawn(
    join(paths.binaries.directory, "bin", "postgres"),
    ["-D", paths.data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    {
      ...paths.user,
      cwd: paths.base,
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C", NODE_ENV: "production" },
      stdio: ["ignore", log, log],
      detached: true,
    },
  );
  closeSync(log);
  child.unref();
  let gone = false;
  const ended = new Promise<void>((resolve) => {
    child.on("exit", () => resolve());
    child.on("error", () => resolve());
  }).then(() => {
    gone = true;
  });
  const { pid } = child;
  return { port, ended, stop: (options) => stopProcess({ pid: pid ?? 0, isGone: () => gone || !pid, ...options }) };
}

function adopt(pid: number, port: number, data: string): Postmaster {
  const isGone = () => !isOurs(pid, data);
  const ended = new Promise<void>((resolve) => {
    const watch = setInterval(() => {
      if (!isGone()) return;
      clearInterval(watch);
      resolve();
    }, 1000);
    watch.unref();
  });
  return { port, ended, stop: (options) => stopProcess({ pid, isGone, ...options }) };
}

// SIGINT: end sessions, write everything, stop. SIGQUIT: stop at once and recover at the next start.
async function stopProcess(options: { pid: number; isGone: () => boolean; graceMilliseconds?: number }): Promise<void> {
  const { pid, isGone, graceMilliseconds = 10_000 } = options;
  if (isGone()) return;
  signalProcess(pid, "SIGINT");
  if (await waitUntil(isGone, graceMilliseconds)) return;
  signalProcess(pid, "SIGQUIT");
  if (await waitUntil(isGone, 3000)) return;
  signalProcess(pid, "SIGKILL");
  await waitUntil(isGone, 1000);
}

// A pid alone proves nothing: it may have been given to another program. Postgres works in its data directory.
function isOurs(pid: number, data: string): boolean {
  if (!pid || !isProcessAlive(pid)) return false;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data);
  } catch {
    if (process.platform === "linux") return false;
  }
  const { stdout } = spawnSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8", timeout: 5000 });
  return stdout.includes(data);
}

async function waitUntilReady(options: {
  postmaster: Postmaster;
  passwords: Passwords;
  signal?: AbortSignal;
  milliseconds?: number;
}): Promise<"ready" | "ended" | "late"> {
  const { postmaster, passwords, signal, milliseconds = startMilliseconds } = options;
  const url = databaseUrl({
    user: "postgres",
    password: passwords.superuser,
    port: postmaster.port,
    database: "postgres",
  });
  let ended = false;
  void postmaster.ended.then(() => {
    ended = true;
  });
  const deadline = Date.now() + milliseconds;
  while (Date.now() < deadline && !signal?.aborted) {
    if (await answers(url)) return "ready";
    if (ended) return "ended";
    await sleep(100);
  }
  return "late";
}

async function answers(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    await sql`SELECT 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

const logLimitBytes = 5 * 1024 * 1024;

async function rotate(logFile: string): Promise<void> {
  const size = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  );
  if (size > logLimitBytes) await rename(logFile, `${logFile}.1`);
}

async function describeFailure(options: {
  paths: ClusterPaths;
  logFile: string;
  state: "ended" | "late";
}): Promise<BootError> {
  const { paths, logFile, state } = options;
  const tail = (await readFile(logFile, "utf8").catch(() => "")).trim().split("\n").slice(-15).join("\n");
  const what =
    state === "late" ? `did not answer within ${startMilliseconds / 1000} s` : "ended right after it was started";
  return new BootError(`The embedded Postgres with its data in ${paths.data} ${what}. The end of ${logFile}:\n${tail}`);
}
