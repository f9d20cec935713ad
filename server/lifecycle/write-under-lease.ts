import { sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import { superseded } from "./lease.ts";

/** As whom a server writes what it does for a sandbox, beside the log: the holder of its lease. */
export interface Fence {
  database: Database;
  actor: Actor;
  lease: { sandboxId: string; leaseEpoch: number };
}

/**
 * Changes nothing and throws `lease-superseded` once another server has the lease. The sandbox's row stays
 * locked against a takeover until the commit: whoever takes over finds the write whole, or never.
 */
export function writeUnderLease<Result>(
  { database, actor, lease }: Fence,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return database.transaction(actor, async (tx) => {
    // Sent together with the work, so that it costs no round trip; what was written is taken back without it.
    const [held, result] = await Promise.all([
      tx.execute(sql`
        select from sandboxes where id = ${lease.sandboxId} and lease_epoch = ${lease.leaseEpoch} for share`),
      work(tx),
    ]);
    if (held.length > 0) return result;
    throw superseded();
  });
}
