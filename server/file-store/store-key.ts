import { z } from "zod";
import { AppError } from "../errors.ts";
import { type SandboxId, sandboxId, type TenantId, tenantId } from "../protocol/ids.ts";

// Lower case only, so that two keys stay two on a disk that folds case. A segment begins and ends with a
// letter or digit: no "..", no hidden name, nothing that a shell or an option parser would read otherwise.
const segment = /^[a-z0-9](?:[a-z0-9._-]{0,198}[a-z0-9])?$/;

/** S3 allows 1,024 bytes; the rest is left to stores that add something of their own. */
const maxKeyLength = 900;

const key = z
  .string()
  .max(maxKeyLength)
  .refine((value) => value.split("/").every((part) => segment.test(part) && !part.includes("..")))
  .brand<"store-key">();

/** Where an object lies in the file store: segments with "/" between them. Only this module makes one. */
export type StoreKey = z.infer<typeof key>;

export function storeKey(...segments: string[]): StoreKey {
  const parsed = key.safeParse(segments.join("/"));
  if (!parsed.success) throw new AppError("invalid-input", "That is not a valid key of the file store");
  return parsed.data;
}

export function findStoreKey(value: string): StoreKey | null {
  const parsed = key.safeParse(value);
  return parsed.success ? parsed.data : null;
}

/** Everything of a sandbox lies under one folder, so that it can be listed and removed as a whole. */
export function sandboxKey(owner: { tenantId: TenantId; sandboxId: SandboxId }, ...names: string[]): StoreKey {
  const tenant = tenantId.safeParse(owner.tenantId);
  const sandbox = sandboxId.safeParse(owner.sandboxId);
  if (!tenant.success || !sandbox.success) {
    throw new AppError("invalid-input", "That is not a valid key of the file store");
  }
  return storeKey("sandbox-snapshots", tenant.data.toLowerCase(), sandbox.data.toLowerCase(), ...names);
}
