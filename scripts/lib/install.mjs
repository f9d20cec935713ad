import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "./problem.mjs";
import { runChild } from "./run-child.mjs";

const installMilliseconds = 15 * 60_000;

/**
 * Installs exactly what the committed lock names, unless that was done before.
 *
 * @param {{ root: string, steps: import("./steps.mjs").Steps }} options
 */
export async function installIfNeeded({ root, steps }) {
  const stamp = join(root, "node_modules", ".dormouse-install");
  if (isInstalled(root, stamp)) return;
  // Not in node_modules: `npm ci` empties that.
  const unlock = await lock(join(root, ".dormouse-install.lock"), steps);
  try {
    if (isInstalled(root, stamp)) return;
    rmSync(stamp, { force: true });
    await steps.run({ doing: "Installing packages", done: "Installed packages" }, () => install(root));
    writeFileSync(stamp, wantedHash(root));
  } finally {
    unlock();
  }
}

/**
 * A fresh clone, or one whose install was cut short, gets all packages anew. Otherwise only what differs is
 * touched: another Dormouse may be running from the same folder. That is also the way where `npm ci` refuses
 * the lock; what npm then changes in it is not ours to keep.
 *
 * @param {string} root
 */
async function install(root) {
  const lockFile = join(root, "package-lock.json");
  const committed = readFileSync(lockFile);
  const isWhole = existsSync(join(root, "node_modules", ".package-lock.json"));
  const cleanly = isWhole ? null : await npm(root, "ci");
  const { code, output } = cleanly?.code === 0 ? cleanly : await npm(root, "install");
  if (!readFileSync(lockFile).equals(committed)) writeFileSync(lockFile, committed);
  if (code !== 0) {
    throw new Problem(`The packages could not be installed (npm ended with ${code}). Its last output:\n\n${output}\n
Check the network and the free disk space, then start again.`);
  }
}

/**
 * @param {string} root
 * @param {"ci" | "install"} way
 */
function npm(root, way) {
  const program = process.env.npm_execpath;
  const [command, ...first] =
    program && /^npm(-cli)?\.c?js$/.test(basename(program)) ? [process.execPath, program] : ["npm"];
  // --include=dev: the build needs them also where NODE_ENV is production.
  const options = ["--prefer-offline", "--no-audit", "--no-fund", "--include=dev"];
  return runChild(command, [...first, way, ...options], { cwd: root, timeoutMilliseconds: installMilliseconds });
}

/**
 * @param {string} root
 * @param {string} stamp
 */
function isInstalled(root, stamp) {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === wantedHash(root);
}

/** @param {string} root */
function wantedHash(root) {
  const hash = createHash("sha256");
  for (const name of ["package-lock.json", "package.json"]) hash.update(readFileSync(join(root, name)));
  return hash.digest("hex");
}

/**
 * Two npm processes in one node_modules destroy each other's work: the second start waits for the first.
 *
 * @param {string} path
 * @param {import("./steps.mjs").Steps} steps
 */
async function lock(path, steps) {
  const deadline = Date.now() + installMilliseconds;
  let told = false;
  while (Date.now() < deadline) {
    try {
      const file = openSync(path, "wx");
      writeFileSync(file, String(process.pid));
      closeSync(file);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    }
    if (!isAlive(holderOf(path))) {
      rmSync(path, { force: true });
      continue;
    }
    if (!told) steps.say("Another start is installing packages: waiting for it.");
    told = true;
    await sleep(500);
  }
  throw new Problem(`Another start has been installing packages for too long. If none runs, remove ${path}.`);
}

/** @param {string} path */
function holderOf(path) {
  try {
    return Number(readFileSync(path, "utf8"));
  } catch {
    return 0;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  if (!pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}
