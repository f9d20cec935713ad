export { createFileStoreClaim } from "./claim-file-store.ts";
export { createFileStore } from "./create-file-store.ts";
export { defaultLimits, type FileStore, type StoredObject } from "./file-store.ts";
export { findStoreKey, type StoreKey, sandboxKey } from "./store-key.ts";
