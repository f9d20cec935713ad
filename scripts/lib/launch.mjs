import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";

/**
 * Hands over to a program and lives exactly as long as it does. Ctrl-C in a terminal reaches the whole
 * process group, so the child hears it by itself; what we pass on is SIGTERM, which the server takes as
 * "stop gracefully" however often it comes, while a second SIGINT means "at once". The ipc channel
 * tells the child when this process is killed.
 *
 * @param {{ node: string, parameters: string[], root: string, environment?: Record<string, string> }} options
 * @returns {Promise<number>} the exit code
 */
export function launch({ node, parameters, root, environment = {} }) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, parameters, {
      cwd: root,
      stdio: ["inherit", "inherit", "inherit", "ipc"],
      env: Object.assign({}, process.env, environment),
    });
    const release = onStop(() => child.kill("SIGTERM"));
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      release();
      resolve(exitCodeOf(code, signal));
    });
  });
}

/**
 * @param {number | null} code
 * @param {NodeJS.Signals | null} signal
 */
export function exitCodeOf(code, signal) {
  return code ?? 128 + (signal ? constants.signals[signal] : 0);
}

/**
 * Calls back whenever this process is told to end, or npm, which ran it, is gone.
 *
 * @param {() => void} stop
 * @returns {() => void} takes it back
 */
export function onStop(stop) {
  const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
  for (const signal of signals) process.on(signal, stop);
  const watch = process.env.npm_lifecycle_event ? watchParents(stop) : undefined;
  return () => {
    for (const signal of signals) process.off(signal, stop);
    clearInterval(watch);
  };
}

/**
 * npm does not take its scripts along when it is killed.
 *
 * @param {() => void} onLost
 */
function watchParents(onLost) {
  const before = lineage();
  const watch = setInterval(() => {
    if (lineage() === before) return;
    clearInterval(watch);
    onLost();
  }, 500);
  return watch;
}

// npm runs scripts through a shell; where that shell stays, npm is our parent's parent.
function lineage() {
  const parent = process.ppid;
  const { name, parent: grandparent } = readProcess(parent);
  return /^(ba|da|z|a)?sh$/.test(name) ? `${parent} ${grandparent}` : `${parent}`;
}

/** @param {number} pid */
function readProcess(pid) {
  try {
    const [, name = "", rest = ""] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return { name, parent: rest.split(" ")[1] };
  } catch {
    return { name: "", parent: "" };
  }
}
