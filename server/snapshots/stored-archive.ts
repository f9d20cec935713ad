import { createHash } from "node:crypto";
import { AppError } from "../errors.ts";
import type { ArchiveContext } from "./archive-context.ts";
import type { ArchiveRow } from "./archive-rows.ts";
import { requireStoreKey } from "./store-keys.ts";

/** The archive in the store is not what was put there, or is gone. */
export class DamagedArchive extends AppError {
  readonly what: "missing" | "damaged";

  constructor(what: "missing" | "damaged") {
    super("upstream", `The archive is ${what} in the file store.`);
    this.what = what;
  }
}

/**
 * Its bytes, for a receiver that uses nothing before the end: there they fail unless they are what was written.
 * Looked at before as well, since a receiver that was cut off needs a while until it takes another one.
 */
export async function openStoredArchive(
  { fileStore }: Pick<ArchiveContext, "fileStore">,
  row: ArchiveRow,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const key = requireStoreKey(row.storeKey);
  const { bytes, sha256, checksum } = row;
  const verdict = await fileStore.verify(key, { bytes: bytes ?? 0, sha256: sha256 ?? "", checksum }, signal);
  if (verdict !== "intact") throw new DamagedArchive(verdict);
  const stream = await fileStore.read(key, { signal });
  if (!stream) throw new DamagedArchive("missing");
  return checked(stream, row);
}

async function* checked(stream: AsyncIterable<Uint8Array>, { sha256, bytes }: ArchiveRow): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let count = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    count += chunk.length;
    yield chunk;
  }
  if (count !== bytes || hash.digest("hex") !== sha256) throw new DamagedArchive("damaged");
}
