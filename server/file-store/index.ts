export { claimFileStore } from "./claim-file-store.ts";
export { createFileStore } from "./create-file-store.ts";
export type { FileStore, StoredObject } from "./file-store.ts";
export { findStoreKey, type StoreKey, sandboxKey } from "./store-key.ts";
