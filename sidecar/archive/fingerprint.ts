import { createHash, randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import type { TreeEntry } from "./walk-tree.ts";

/** What of a status counts. */
export type ToldStatus = Pick<Stats, "mode" | "size" | "mtimeMs" | "ctimeMs">;

export interface ToldEntry extends Omit<TreeEntry, "status"> {
  status: ToldStatus;
}

/** What is told from a tree without reading its files. Entries are added in the order of a walk. */
export interface Fingerprint {
  add(entry: ToldEntry, changedAt?: number): void;
  /** For a tree that may still change without its times showing it: one that no other equals. */
  spoil(): void;
  digest(): string;
}

const batchLength = 16 * 1024;

/**
 * Of path, kind, size, mode, both times and a link's target: the same only while nothing was written.
 * Directories count with name and mode.
 */
export function createFingerprint(): Fingerprint {
  const hash = createHash("sha256");
  let batch = "dormouse-tree-v1\n";

  function flush(): void {
    hash.update(batch, "latin1");
    batch = "";
  }

  return {
    // Whoever sets the time of writing back cannot set back when that was done.
    add({ name, kind, status, target }, changedAt = status.ctimeMs) {
      const times = kind === "directory" ? "" : `${status.size} ${status.mtimeMs} ${changedAt}`;
      batch += `${kind} ${status.mode & 0o7777} ${times}\0${name}\0${target}\n`;
      if (batch.length > batchLength) flush();
    },
    spoil() {
      batch += randomBytes(16).toString("latin1");
    },
    digest() {
      flush();
      return hash.digest("hex");
    },
  };
}
