import type { FileEntry } from "@/server/protocol/sidecar.ts";
import type { SnapshotEntry, SnapshotFiles } from "@/server/protocol/snapshots.ts";
import { type Folder, type Folders, parentOf, sorted, withoutEmptyGiven } from "../files/folders.ts";

/** A snapshot's list as the tree wants it. Folders that the list does not name itself are there all the same. */
export function toFolders({ entries, truncated }: Pick<SnapshotFiles, "entries" | "truncated">): Folders {
  const folders = new Map<string, Folder>();
  folders.set("", { entries: [], truncated, problem: null });

  function folder(path: string) {
    const known = folders.get(path);
    if (known) return known;
    const made = { entries: [] as FileEntry[], truncated: false, problem: null };
    folders.set(path, made);
    folder(parentOf(path)).entries.push(toEntry({ path, kind: "directory", size: 0, modifiedAt: "" }));
    return made;
  }

  for (const entry of entries) {
    if (entry.kind === "directory") folder(entry.path);
    else folder(parentOf(entry.path)).entries.push(toEntry(entry));
  }
  for (const made of folders.values()) made.entries = sorted(made.entries);
  return withoutEmptyGiven(folders);
}

function toEntry({ path, kind, size, modifiedAt }: SnapshotEntry): FileEntry {
  return { path, name: path.split("/").at(-1) ?? path, kind, size, modifiedAt: Date.parse(modifiedAt) || 0 };
}
