import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BootError } from "./boot-error.ts";
import { tryLock } from "./process-lock.ts";

const buildMilliseconds = 10 * 60_000;
const sourceFolders = ["app", "components", "server", "db", "sidecar", "public"];
const sourceFiles = ["next.config.ts", "postcss.config.mjs", "package-lock.json", "tsconfig.json"];

export interface BuildOptions {
  root: string;
  signal: AbortSignal;
  /** Wraps the work only when there is some. */
  step?: (work: () => Promise<void>) => Promise<void>;
}

/** Builds the pages when what they are made of has changed since the last complete build. */
export async function buildIfNeeded({ root, signal, step = (work) => work() }: BuildOptions): Promise<void> {
  const wanted = await hashSources(root);
  if (await isBuilt(root, wanted)) return;
  await step(async () => {
    const lock = await waitForLock(root, signal);
    try {
      // Another start may have built it while this one waited.
      if (await isBuilt(root, wanted)) return;
      await rm(stampOf(root), { force: true });
      await runBuild(root, signal);
      await writeFile(stampOf(root), wanted);
    } finally {
      lock.release();
    }
  });
}

/** Contents and paths of everything that a build can depend on; tests are no part of it. */
export async function hashSources(root: string): Promise<string> {
  const hash = createHash("sha256");
  const files = [...sourceFiles];
  for (const folder of sourceFolders) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.isFile() && !/\.(test|contract)\.tsx?$/.test(entry.name))
        files.push(join(entry.parentPath, entry.name).slice(root.length + 1));
    }
  }
  for (const file of files.sort()) {
    const content = await readFile(join(root, file)).catch(() => null);
    if (content) hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

async function isBuilt(root: string, wanted: string): Promise<boolean> {
  if (!existsSync(join(root, ".next", "BUILD_ID"))) return false;
  return (await readFile(stampOf(root), "utf8").catch(() => "")) === wanted;
}

function stampOf(root: string): string {
  return join(root, ".next", "dormouse-build");
}

async function waitForLock(root: string, signal: AbortSignal) {
  const folder = join(root, "node_modules", ".cache", "dormouse");
  await mkdir(folder, { recursive: true });
  const deadline = Date.now() + buildMilliseconds;
  while (Date.now() < deadline) {
    const lock = tryLock(join(folder, "build.sqlite"));
    if (lock) return lock;
    await sleep(250, undefined, { signal });
  }
  throw new BootError("Another start has been building the pages for more than ten minutes. Stop it and start again.");
}

// Through a small program of our own that ends the build when this process dies, however it dies.
async function runBuild(root: string, signal: AbortSignal): Promise<void> {
  const logFile = join(root, "node_modules", ".cache", "dormouse", "build.log");
  const log = await open(logFile, "w");
  try {
    const child = fork(join(import.meta.dirname, "run-build.ts"), [], {
      cwd: root,
      stdio: ["ignore", log.fd, log.fd, "ipc"],
      detached: true,
    });
    const limit = AbortSignal.any([signal, AbortSignal.timeout(buildMilliseconds)]);
    const disconnect = () => child.connected && child.disconnect();
    limit.addEventListener("abort", disconnect);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", resolve);
    });
    limit.removeEventListener("abort", disconnect);
    signal.throwIfAborted();
    if (code === 0) return;
    const tail = (await readFile(logFile, "utf8")).trim().split("\n").slice(-25).join("\n");
    const what = limit.aborted
      ? "took more than ten minutes and was stopped"
      : `failed (next build ended with ${code})`;
    throw new BootError(`Building the pages ${what}. The end of ${logFile}:\n${tail}`);
  } finally {
    await log.close();
  }
}
