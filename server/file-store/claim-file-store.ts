import type { Database } from "../../db/client.ts";
import { AppError } from "../errors.ts";
import type { FileStore } from "./file-store.ts";
import { storeKey } from "./store-key.ts";

const mark = storeKey("installation.txt");
const maxMarkLength = 200;

/** `unclaimed`: nobody's yet, or a new one that was accepted. */
export type FileStoreOwner = "ours" | "unclaimed" | "another" | "missing";

export interface FileStoreClaim {
  /** Whose it is. Writes nothing. */
  look(): Promise<FileStoreOwner>;
  /** It is ours from here on; only after a look that found it `unclaimed`. */
  claim(): Promise<void>;
}

/**
 * The file store says by a mark of its own whose it is, and the database remembers that there is one. Without
 * that, a disk that is not mounted, or the wrong bucket, would read as a store in which nothing was ever kept:
 * sandboxes would wake empty, and their archives would be lost to them.
 */
export function createFileStoreClaim(input: {
  database: Database;
  fileStore: FileStore;
  /** The same on every replica. */
  installation: string;
  /** The old one is gone for good: this one is used instead. */
  acceptNew: boolean;
  signal: AbortSignal;
}): FileStoreClaim {
  const { database, fileStore, installation, acceptNew, signal } = input;
  return {
    async look() {
      // In this order: whoever claims writes the mark first, so where this is true there is one.
      const [row] = await database.call<{ claimed: boolean }>("select file_store_claimed() as claimed", []);
      const found = await readMark(fileStore, signal);
      if (found === installation) return row?.claimed ? "ours" : "unclaimed";
      if (found !== null && !acceptNew) return "another";
      return found === null && row?.claimed && !acceptNew ? "missing" : "unclaimed";
    },
    async claim() {
      await fileStore.write(mark, bytesOf(installation), signal);
      await database.call("select claim_file_store()", []);
    },
  };
}

async function readMark(fileStore: FileStore, signal: AbortSignal): Promise<string | null> {
  const stream = await fileStore.read(mark, { signal });
  if (!stream) return null;
  let text = "";
  for await (const chunk of stream) {
    text += chunk;
    if (text.length > maxMarkLength)
      throw new AppError("upstream", `${mark} in the file store was not written by Dormouse`);
  }
  return text.trim();
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${text}\n`);
}
