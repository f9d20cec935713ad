import { and, eq, sql } from "drizzle-orm";
import { operations } from "../../db/schema/index.ts";
import type { Lease, Leases } from "./lease.ts";

/** One durable attempt at a lifecycle verb. */
export interface Operation {
  phase(name: string): Promise<void>;
  succeed(): Promise<void>;
  fail(cause: string): Promise<void>;
}

/** Settles what an interrupted predecessor left running: only the holder of the lease gets here. */
export async function beginOperation(
  leases: Leases,
  lease: Lease,
  input: { verb: "wake"; phase: string; deadlineMilliseconds: number },
): Promise<Operation> {
  const { tenantId, userId } = lease.actor;
  const [row] = await leases.write(lease, async (tx) => {
    await tx
      .update(operations)
      .set({ state: "failed", cause: "The server that ran it ended.", endedAt: new Date() })
      .where(and(eq(operations.sandboxId, lease.sandboxId), eq(operations.state, "running")));
    return tx
      .insert(operations)
      .values({
        tenantId,
        userId,
        sandboxId: lease.sandboxId,
        verb: input.verb,
        phase: input.phase,
        requestedBy: userId,
        leaseEpoch: lease.epoch,
        deadlineAt: sql`now() + make_interval(secs => ${input.deadlineMilliseconds / 1000})`,
      })
      .returning({ id: operations.id });
  });
  if (!row) throw new Error("The operation was not stored.");
  const change = (values: Partial<typeof operations.$inferInsert>) =>
    leases.write(lease, async (tx) => {
      await tx.update(operations).set(values).where(eq(operations.id, row.id));
    });
  return {
    phase: (phase) => change({ phase }),
    succeed: () => change({ state: "succeeded", phase: "running", endedAt: new Date() }),
    fail: (cause) => change({ state: "failed", cause, endedAt: new Date() }),
  };
}
