import { and, eq, sql } from "drizzle-orm";
import { operations } from "../../db/schema/index.ts";
import { type LifecycleVerb, lifecycleVerbs, type OperationPhase } from "../protocol/lifecycle-verbs.ts";
import type { Lease, Leases } from "./lease.ts";

/** One durable attempt at a lifecycle verb. */
export interface Operation<Verb extends LifecycleVerb> {
  phase(name: OperationPhase<Verb>): Promise<void>;
  succeed(): Promise<void>;
  fail(cause: string): Promise<void>;
}

/** Begins in the verb's first phase. Fails what an interrupted predecessor left running: only the holder of the lease gets here. */
export async function beginOperation<Verb extends LifecycleVerb>(
  leases: Leases,
  lease: Lease,
  { verb, deadlineMilliseconds }: { verb: Verb; deadlineMilliseconds: number },
): Promise<Operation<Verb>> {
  const { tenantId, userId } = lease.actor;
  const { phases } = lifecycleVerbs[verb];
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
        verb,
        phase: phases[0],
        requestedBy: userId,
        leaseEpoch: lease.epoch,
        deadlineAt: sql`now() + make_interval(secs => ${deadlineMilliseconds / 1000})`,
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
    succeed: () => change({ state: "succeeded", phase: phases.at(-1) as OperationPhase<Verb>, endedAt: new Date() }),
    fail: (cause) => change({ state: "failed", cause, endedAt: new Date() }),
  };
}
