import type { FileEntry } from "@/server/protocol/sidecar.ts";

export interface Folder {
  entries: FileEntry[];
  truncated: boolean;
  problem: string | null;
}

/** What is known of a tree, by the path of each folder; the empty one is the root. A folder may be called “constructor”. */
export type Folders = ReadonlyMap<string, Folder>;

/** Every session has these from the beginning; they are worth showing once something is in them. */
export const givenFolders = ["outputs", "attachments"];

export function withoutEmptyGiven(folders: Folders): Folders {
  const root = folders.get("");
  if (!root) return folders;
  const isEmpty = (path: string) => !folders.get(path)?.entries.length;
  const entries = root.entries.filter(({ path }) => !(givenFolders.includes(path) && isEmpty(path)));
  return new Map(folders).set("", { ...root, entries });
}

/** Folders first; without what a repository keeps for itself. */
export function sorted(entries: FileEntry[]): FileEntry[] {
  const rank = (entry: FileEntry) => (entry.kind === "directory" ? 0 : 1);
  return entries
    .filter((entry) => entry.name !== ".git")
    .sort((one, other) => rank(one) - rank(other) || compare(one.name, other.name));
}

/** As people sort; names that are the same to them keep one order all the same. */
function compare(one: string, other: string): number {
  return one.localeCompare(other) || (one < other ? -1 : 1);
}

export function parentOf(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}
