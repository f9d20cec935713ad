import type { Transaction } from "../../db/client.ts";
import { audit } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";

/** In the same transaction as what it records: neither exists without the other. */
export async function recordAudit(
  tx: Transaction,
  actor: Actor,
  { action, subject, detail = {} }: { action: string; subject?: string; detail?: Record<string, unknown> },
): Promise<void> {
  await tx.insert(audit).values({ tenantId: actor.tenantId, userId: actor.userId, action, subject, detail });
}
