import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const usualPlaces = ["/usr/bin", "/bin", "/usr/local/bin"];

/**
 * @param {readonly string[]} names the first that is found wins
 * @returns {string | null}
 */
export function findProgram(names, searchPath = process.env.PATH ?? "") {
  const directories = [...searchPath.split(delimiter), ...usualPlaces].filter(Boolean);
  for (const name of names) {
    const path = directories.map((directory) => join(directory, name)).find(isExecutable);
    if (path) return path;
  }
  return null;
}

/** @param {string} path */
export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
