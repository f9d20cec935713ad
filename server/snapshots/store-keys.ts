import { AppError } from "../errors.ts";
import { findStoreKey, type StoreKey, sandboxKey } from "../file-store/index.ts";
import type { OwnedSandbox } from "../lifecycle/index.ts";
import { sandboxId, tenantId } from "../protocol/ids.ts";
import type { Subject } from "./archive-context.ts";

type Owner = Pick<OwnedSandbox, "actor" | "sandboxId">;

/** Written once and never again. */
export function generationKey(owner: Owner, subject: Subject, id: string): StoreKey {
  const folder = subject.kind === "workspace" ? ["workspaces", subject.sessionId] : [subject.kind];
  return sandboxKey(idsOf(owner), ...folder, `${id}.tar.gz`);
}

/** Where the newest history always is, for whoever has nothing but the store. */
export function newestHistoryKey(owner: Owner): StoreKey {
  return sandboxKey(idsOf(owner), "opencode-history.tar.gz");
}

export function requireStoreKey(text: string): StoreKey {
  const key = findStoreKey(text);
  if (!key) throw new AppError("internal", "The archive's key in the file store is not valid.");
  return key;
}

function idsOf(owner: Owner) {
  return { tenantId: tenantId.parse(owner.actor.tenantId), sandboxId: sandboxId.parse(owner.sandboxId) };
}
