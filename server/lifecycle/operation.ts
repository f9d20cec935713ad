import { and, eq, inArray, type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../../db/client.ts";
import { operations } from "../../db/schema/index.ts";
import { AppError } from "../errors.ts";
import { spokenVerbs } from "../protocol/lifecycle-refusal.ts";
import {
  type LifecycleVerb,
  lifecycleVerbs,
  type OperationOptions,
  type OperationPhase,
  type OperationReason,
} from "../protocol/lifecycle-verbs.ts";
import type { Lease, Leases } from "./lease.ts";

export type OperationRow = typeof operations.$inferSelect;

/** One durable attempt at a lifecycle verb. Whatever it writes throws `operation-over` once somebody has cancelled it. */
export interface Operation<Verb extends LifecycleVerb = LifecycleVerb> {
  readonly id: string;
  readonly options: OperationOptions;
  phase(name: OperationPhase<Verb>): Promise<void>;
  /** As `phase`, if `allowed`, asked in the same transaction, gives null; else nothing is changed and its answer given. */
  phaseIf(name: OperationPhase<Verb>, allowed: (tx: Transaction) => Promise<string | null>): Promise<string | null>;
  succeed(detail?: Record<string, unknown>): Promise<void>;
  fail(cause: string): Promise<void>;
  cancel(cause: string): Promise<void>;
}

/**
 * Takes up what was asked for, or begins anew, in the verb's first phase. Whatever else is open of this sandbox ends:
 * what a predecessor left running has failed, what was asked for and can no longer be done is cancelled. Only the
 * holder of the lease gets here.
 */
export async function beginOperation<Verb extends LifecycleVerb>(
  leases: Leases,
  lease: Lease,
  begin: { verb: Verb; reason: OperationReason; deadlineMilliseconds: number },
): Promise<Operation<Verb>> {
  const { tenantId, userId } = lease.actor;
  const { verb, reason } = begin;
  const [phase] = lifecycleVerbs[verb].phases;
  const running = {
    state: "running",
    phase,
    phases: sql`jsonb_build_array(jsonb_build_object('phase', ${phase}::text, 'at', now()))`,
    leaseEpoch: lease.epoch,
    startedAt: sql`now()`,
    deadlineAt: sql`now() + make_interval(secs => ${begin.deadlineMilliseconds / 1000})`,
  } as const;
  const [row] = await leases.write(lease, async (tx) => {
    const ofSandbox = eq(operations.sandboxId, lease.sandboxId);
    await failInterrupted(tx, lease.sandboxId);
    const asked = await tx
      .update(operations)
      .set(running)
      .where(and(ofSandbox, eq(operations.state, "requested"), eq(operations.verb, verb)))
      .returning();
    if (asked.length > 0) return asked;
    await tx
      .update(operations)
      .set({ state: "cancelled", cause: `The sandbox had to ${spokenVerbs[verb]} first.`, endedAt: sql`now()` })
      .where(and(ofSandbox, eq(operations.state, "requested")));
    return tx
      .insert(operations)
      .values({ tenantId, userId, sandboxId: lease.sandboxId, verb, reason, ...running })
      .returning();
  });
  if (!row) throw new Error("The operation was not stored.");
  return resumeOperation(leases, lease, row as OperationRow & { verb: Verb });
}

/** One that runs under this lease. */
export function resumeOperation<Verb extends LifecycleVerb>(
  leases: Leases,
  lease: Lease,
  row: OperationRow & { verb: Verb },
): Operation<Verb> {
  const { phases } = lifecycleVerbs[row.verb];
  const write = async (
    tx: Transaction,
    values: { [Key in keyof OperationRow]?: OperationRow[Key] | SQL },
  ): Promise<void> => {
    const rows = await tx
      .update(operations)
      .set(values)
      .where(and(eq(operations.id, row.id), eq(operations.state, "running")))
      .returning({ id: operations.id });
    if (rows.length === 0) throw operationOver();
  };
  const change = (values: Parameters<typeof write>[1]) => leases.write(lease, (tx) => write(tx, values));
  const entering = (name: OperationPhase<Verb>) => ({
    phase: name,
    phases: sql`${operations.phases} || jsonb_build_array(jsonb_build_object('phase', ${name}::text, 'at', now()))`,
  });
  const last = phases.at(-1) as OperationPhase<Verb>;
  const endedAt = sql`now()`;
  return {
    id: row.id,
    options: row.options,
    phase: (name) => change(entering(name)),
    phaseIf: (name, allowed) =>
      leases.write(lease, async (tx) => {
        const refused = await allowed(tx);
        if (refused === null) await write(tx, entering(name));
        return refused;
      }),
    succeed: (detail = {}) => change({ state: "succeeded", ...entering(last), detail, endedAt }),
    fail: (cause) => change({ state: "failed", cause, endedAt }),
    cancel: (cause) => change({ state: "cancelled", cause, endedAt }),
  };
}

/** What a holder left running that does not run it any more. */
export async function failInterrupted(tx: Transaction, sandboxId: string): Promise<void> {
  await tx
    .update(operations)
    .set({ state: "failed", cause: "The server that ran it stopped.", endedAt: sql`now()` })
    .where(and(eq(operations.sandboxId, sandboxId), eq(operations.state, "running")));
}

/** What is open of this sandbox: asked for, or running. One at most. */
export async function findOpenOperation(tx: Transaction, sandboxId: string): Promise<OperationRow | null> {
  const [row] = await tx
    .select()
    .from(operations)
    .where(and(eq(operations.sandboxId, sandboxId), inArray(operations.state, ["requested", "running"])));
  return row ?? null;
}

function operationOver(): AppError {
  return new AppError("conflict", "This was called off meanwhile.", { refusal: "operation-over" });
}
