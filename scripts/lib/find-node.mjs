import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Problem } from "./problem.mjs";

const neededMajor = 24;

/**
 * The server needs Node 24; it comes as a package, so that the machine's own Node may be older.
 *
 * @param {string} root
 * @returns {string} the path of a node that is new enough
 */
export function findNode(root) {
  const packaged = join(root, "node_modules", ".bin", "node");
  if (existsSync(packaged) && majorOf(versionOf(packaged)) >= neededMajor) return packaged;
  if (majorOf(process.version) >= neededMajor) return process.execPath;
  throw new Problem(`Dormouse needs Node ${neededMajor} or newer, and this is ${process.version}.
There is no packaged Node for ${process.platform} ${process.arch}: install one from https://nodejs.org and start again.`);
}

/** @param {string} node */
function versionOf(node) {
  return spawnSync(node, ["--version"], { encoding: "utf8", timeout: 10_000 }).stdout ?? "";
}

/** @param {string} version */
function majorOf(version) {
  return Number(/^v(\d+)\./.exec(version.trim())?.[1] ?? 0);
}
