import type { FileEntry } from "@/server/protocol/sidecar.ts";

export interface Folder {
  entries: FileEntry[];
  truncated: boolean;
  problem: string | null;
}

/** What is known of a tree, by the path of each folder; the empty one is the root. */
export type Folders = Record<string, Folder>;

/** Every session has these from the beginning; they are worth showing once something is in them. */
export const givenFolders = ["outputs", "attachments"];

export function withoutEmptyGiven(folders: Folders): Folders {
  const root = folders[""];
  if (!root) return folders;
  const isEmpty = (path: string) => !folders[path] || folders[path].entries.length === 0;
  const entries = root.entries.filter(({ path }) => !(givenFolders.includes(path) && isEmpty(path)));
  return { ...folders, "": { ...root, entries } };
}

/** Folders first; without what a repository keeps for itself. */
export function sorted(entries: FileEntry[]): FileEntry[] {
  const rank = (entry: FileEntry) => (entry.kind === "directory" ? 0 : 1);
  return entries
    .filter((entry) => entry.name !== ".git")
    .sort((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name));
}
