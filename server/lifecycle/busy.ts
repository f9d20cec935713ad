import { sql } from "drizzle-orm";
import type { Transaction } from "../../db/client.ts";

/** Why a sandbox may not fall asleep now, for people; null when it may. */
export async function findBusy(tx: Transaction, sandboxId: string): Promise<string | null> {
  const [row] = await tx.execute<{ busy: string | null }>(sql`select sandbox_busy(${sandboxId}::uuid) as busy`);
  if (!row?.busy) return null;
  return row.busy === "running" ? "The agent is working." : "A message is waiting for the agent.";
}
