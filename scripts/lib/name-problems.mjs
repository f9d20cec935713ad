import { globSync } from "node:fs";
import { basename, dirname } from "node:path";

const folders = "{app,components,server,db,sidecar,e2e,bench,faults,scripts}";

/** Found in many folders, each time in the same part. */
const shared = new Set(["index", "main"]);

/**
 * One base name means one thing in the whole tree, so that a name in a stack trace, a search or a talk is enough.
 * Routes and pages are named by Next, commands in scripts/ by npm, and journeys in e2e/ by what people do.
 *
 * @param {string} root
 * @returns {string[]} one line for each name that two files have for different things
 */
export function findNameProblems(root) {
  /** @type {Map<string, string[]>} */
  const filesByName = new Map();
  for (const file of globSync(`${folders}/**/*.{ts,tsx,mjs}`, { cwd: root }).sort()) {
    const name = nameOf(file);
    if (shared.has(name) || isNamedByOthers(file, name)) continue;
    filesByName.set(name, [...(filesByName.get(name) ?? []), file]);
  }
  return [...filesByName].flatMap(([name, files]) => {
    const different = files.filter((file) => !followsAnother(file, files));
    return different.length > 1 ? [`${different.join(", ")}: “${name}” names different things`] : [];
  });
}

/** @param {string} file */
function nameOf(file) {
  return basename(file).replace(/(\.(test|contract|spec))?\.(ts|tsx|mjs)$/, "");
}

/**
 * @param {string} file
 * @param {string} name
 */
function isNamedByOthers(file, name) {
  if (file.startsWith("app/")) {
    return ["page", "layout", "route", "error", "not-found", "loading", "actions"].includes(name);
  }
  return /^scripts\/[^/]+$/.test(file) || /^e2e\/.*\.(test|spec)\.ts$/.test(file);
}

/**
 * A test follows the source beside it, or stands for its whole folder.
 *
 * @param {string} file
 * @param {string[]} files
 */
function followsAnother(file, files) {
  if (!/\.(test|contract)\.tsx?$/.test(file)) return false;
  const folder = dirname(file);
  return basename(folder) === nameOf(file) || files.some((other) => other !== file && dirname(other) === folder);
}
