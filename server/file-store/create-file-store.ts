import type { FileStoreConfig } from "../config.ts";
import type { FileStore, StoreLimits } from "./file-store.ts";
import { createFilesystemStore } from "./stores/filesystem.ts";

export async function createFileStore(config: FileStoreConfig, limits?: Partial<StoreLimits>): Promise<FileStore> {
  if (config.kind === "filesystem") return createFilesystemStore({ root: config.root, limits });
  // Loaded only where it is used: the vendor's client costs 35 MB and a tenth of a second.
  const { createS3Store } = await import("./stores/s3.ts");
  return createS3Store({ ...config, limits });
}
