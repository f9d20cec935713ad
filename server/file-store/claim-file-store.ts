import type { Database } from "../../db/client.ts";
import { AppError } from "../errors.ts";
import type { FileStore } from "./file-store.ts";
import { storeKey } from "./store-key.ts";

const mark = storeKey("installation.txt");
const maxMarkLength = 200;

export type Claim = "ours" | "claimed" | "another" | "missing";

/**
 * The file store says by a mark of its own whose it is, and the database remembers that there is one. Without
 * that, a disk that is not mounted, or the wrong bucket, would read as a store in which nothing was ever kept:
 * sandboxes would wake empty, and their archives would be lost to them.
 */
export async function claimFileStore(input: {
  database: Database;
  fileStore: FileStore;
  /** The same on every replica. */
  installation: string;
  /** The old one is gone for good: this one is used instead. */
  acceptNew: boolean;
  signal: AbortSignal;
}): Promise<Claim> {
  const { database, fileStore, installation, acceptNew, signal } = input;
  // In this order: whoever claims writes the mark first, so where this is true there is one.
  const [row] = await database.call<{ claimed: boolean }>("select file_store_claimed() as claimed", []);
  const found = await readMark(fileStore, signal);
  if (found !== null && found !== installation && !acceptNew) return "another";
  if (found === null && row?.claimed && !acceptNew) return "missing";
  const isOurs = found === installation;
  if (!isOurs) await fileStore.write(mark, bytesOf(installation), signal);
  if (!row?.claimed) await database.call("select claim_file_store()", []);
  return isOurs ? "ours" : "claimed";
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
