import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { installDebianPackage } from "./debian-package.mjs";
import { findProgram, isExecutable } from "./find-program.mjs";
import { Problem } from "./problem.mjs";

const systemNames = ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser"];

/**
 * @param {{ root: string, steps: import("./steps.mjs").Steps }} options
 * @returns {Promise<string>} the path of a Chromium that runs
 */
export async function bringChromium({ root, steps }) {
  const chosen = process.env.DORMOUSE_TEST_CHROMIUM;
  if (chosen) {
    if (runs(chosen)) return chosen;
    throw new Problem(`DORMOUSE_TEST_CHROMIUM names ${chosen}, which does not run.`);
  }
  const found = findChromium();
  if (found) return found;
  const why = await installDebianPackage({ name: "chromium", root, steps });
  const installed = findChromium();
  if (installed) return installed;
  throw new Problem(`The browser tests need a Chromium, and there is none here. ${why}
Install one (npx playwright install --with-deps chromium, or the package chromium), or set DORMOUSE_TEST_CHROMIUM to its path.`);
}

function findChromium() {
  const system = systemNames.map((name) => findProgram([name])).filter((path) => path !== null);
  return [...system, ...playwrightBrowsers()].find(runs) ?? null;
}

const playwrightNames = [
  ["chrome-linux64", "chrome"],
  ["chrome-linux", "chrome"],
  ["chrome-headless-shell-linux64", "chrome-headless-shell"],
  ["chrome-linux", "headless_shell"],
];

function playwrightBrowsers() {
  const cache = process.env.PLAYWRIGHT_BROWSERS_PATH || join(homedir(), ".cache", "ms-playwright");
  const versions = existsSync(cache) ? readdirSync(cache).filter((name) => name.startsWith("chromium")) : [];
  return versions.flatMap((version) => playwrightNames.map((parts) => join(cache, version, ...parts)));
}

// Ubuntu puts a script into the place of Chromium that only says where to get it.
/** @param {string} path */
function runs(path) {
  return isExecutable(path) && spawnSync(path, ["--version"], { timeout: 20_000 }).status === 0;
}
