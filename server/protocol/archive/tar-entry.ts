import type { RawName } from "./raw-name.ts";

export interface TarEntry {
  kind: "file" | "directory" | "link" | "hard-link";
  /** Without a slash at the end. */
  name: RawName;
  /** Of a file; 0 for all else. */
  size: number;
  /** The nine permission bits. */
  mode: number;
  /** In whole seconds. */
  modifiedAt: number;
  /** Of a link as it stands in it, of a hard link the name of the other entry; else empty. */
  target: RawName;
}

export const blockBytes = 512;
export const typeFlags = { file: "0", "hard-link": "1", link: "2", directory: "5" } as const;

/** Zero bytes that fill up the last block of a body. */
export function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}
