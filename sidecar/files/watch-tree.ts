import { existsSync, type FSWatcher, watch } from "node:fs";
import { readdir } from "node:fs/promises";
import { nameBytes, type RawName, rawName } from "../../server/protocol/archive/raw-name.ts";

/**
 * Tells which paths below a directory changed. One watcher for each directory, not for each file as
 * Node's own recursive watch has it; folders that tools fill with thousands of files are left out.
 */
export interface TreeWatch {
  close(): void;
}

const ignored = new Set([".git", "node_modules", ".next", "__pycache__", ".venv", ".cache"]);
const maxDirectories = 2_000;
const maxPaths = 200;
const gatherMilliseconds = 150;

export async function watchTree(input: {
  directory: RawName;
  onChanged(change: { paths: RawName[]; all: boolean }): void;
  onEnd(): void;
}): Promise<TreeWatch> {
  const { directory, onChanged, onEnd } = input;
  const watchers = new Map<RawName, FSWatcher>();
  let changed = new Set<RawName>();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function reportChanges(): void {
    timer = undefined;
    const all = changed.size > maxPaths;
    onChanged({ paths: all ? [] : [...changed], all });
    changed = new Set();
  }

  function note(path: RawName): void {
    if (changed.size <= maxPaths) changed.add(path);
    timer ??= setTimeout(reportChanges, gatherMilliseconds);
  }

  function unwatch(path: RawName): void {
    for (const [known, watcher] of watchers) {
      if (known !== path && !known.startsWith(`${path}/`)) continue;
      watcher.close();
      watchers.delete(known);
    }
  }

  function endWhenGone(): void {
    if (closed || existsSync(nameBytes(directory))) return;
    close();
    onEnd();
  }

  function close(): void {
    closed = true;
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
  }

  /** `found` once the tree is watched: what already lies in a new directory was made before anybody looked. */
  async function add(path: RawName, found: (path: RawName) => void): Promise<void> {
    if (closed || watchers.has(path) || watchers.size >= maxDirectories) return;
    try {
      const at = nameBytes(join(directory, path));
      const watcher = watch(at, { persistent: false, encoding: "buffer" }, (event, bytes) => {
        if (path === "" && event === "rename") endWhenGone();
        const name = bytes && rawName(bytes);
        if (closed || !name || isIgnored(name)) return;
        const child = join(path, name);
        note(child);
        // Made, removed, or another one of that name: what was watched there is no more.
        if (event === "rename") unwatch(child);
        void add(child, note);
      });
      watcher.on("error", () => unwatch(path));
      watchers.set(path, watcher);
      for (const entry of await readdir(at, { withFileTypes: true, encoding: "buffer" })) {
        const name = rawName(entry.name);
        if (isIgnored(name)) continue;
        found(join(path, name));
        if (entry.isDirectory()) await add(join(path, name), found);
      }
    } catch {
      // A file, or gone already.
      unwatch(path);
    }
  }

  await add("", () => {});
  return { close };
}

function isIgnored(name: RawName): boolean {
  return ignored.has(name) || name.startsWith(".dormouse-");
}

function join(folder: RawName, name: RawName): RawName {
  return folder === "" ? name : `${folder}/${name}`;
}
