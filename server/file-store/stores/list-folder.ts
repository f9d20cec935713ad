import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { StoredEntry } from "../file-store.ts";
import { findStoreKey } from "../store-key.ts";
import { isAbsent } from "./filesystem-error.ts";

interface ListOptions {
  root: string;
  folder: string | null;
  call<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Depth first. A folder sorts with its slash, so that the order is that of the whole keys, as S3 has it. */
export async function* listFolder({ root, folder, call }: ListOptions): AsyncGenerator<StoredEntry> {
  const found = await call(() => ignoreAbsent(readdir(join(root, folder ?? ""), { withFileTypes: true })));
  const names = (found ?? [])
    .filter((entry) => entry.isDirectory() || entry.isFile())
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort((a, b) => (a < b ? -1 : 1));
  for (const name of names) {
    const key = findStoreKey((folder ? `${folder}/` : "") + name.replace(/\/$/, ""));
    if (!key) continue;
    if (name.endsWith("/")) {
      yield* listFolder({ root, folder: key, call });
    } else {
      const file = await call(() => ignoreAbsent(stat(join(root, key))));
      if (file) yield { key, bytes: file.size, modifiedAt: file.mtime };
    }
  }
}

// What is removed while it is listed may be left out.
async function ignoreAbsent<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
