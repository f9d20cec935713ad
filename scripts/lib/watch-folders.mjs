import { readdirSync, watch } from "node:fs";
import { join, sep } from "node:path";

const quietMilliseconds = 150;

/**
 * Calls back once a change of a source in these folders has come to rest. Each folder is watched by itself:
 * Node 20's recursive way loses files that editors replace rather than write.
 *
 * @param {string[]} roots
 * @param {() => void} onChange
 * @returns {{ close(): void }}
 */
export function watchFolders(roots, onChange) {
  /** @type {Map<string, import("node:fs").FSWatcher>} */
  const watchers = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  let quiet;

  const later = () => {
    clearTimeout(quiet);
    quiet = setTimeout(onChange, quietMilliseconds);
  };
  /** @param {string} folder */
  const add = (folder) => {
    const entries = list(folder);
    if (!entries) return;
    if (!watchers.has(folder)) {
      const watcher = watch(folder);
      watcher.on("change", (_kind, name) => changed(folder, String(name)));
      watcher.on("error", () => remove(folder));
      watchers.set(folder, watcher);
    }
    for (const entry of entries) if (entry.isDirectory()) add(join(folder, entry.name));
  };
  /** @param {string} folder */
  const remove = (folder) => {
    for (const [path, watcher] of watchers) {
      if (path !== folder && !path.startsWith(folder + sep)) continue;
      watcher.close();
      watchers.delete(path);
    }
  };
  /**
   * @param {string} folder
   * @param {string} name
   */
  const changed = (folder, name) => {
    const path = join(folder, name);
    const isFolder = list(path) !== null;
    if (isFolder && !watchers.has(path)) {
      add(path);
      // What was put into it before it was watched.
      later();
    } else if (!isFolder && watchers.has(path)) {
      remove(path);
      later();
    }
    if (isSource(name)) later();
  };

  for (const root of roots) add(root);
  return {
    close() {
      clearTimeout(quiet);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

/** @param {string} name */
function isSource(name) {
  return /^[^.].*\.(ts|tsx|mjs|sql|json)$/.test(name) && !name.endsWith(".test.ts");
}

/** @param {string} folder */
function list(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return null;
  }
}
