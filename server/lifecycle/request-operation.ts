import { and, eq, inArray, sql } from "drizzle-orm";
import type { Transaction } from "../../db/client.ts";
import { operations, sandboxes } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import { awayRefusal, lifecycleRefusal, spokenVerbs } from "../protocol/lifecycle-refusal.ts";
import {
  type LifecycleVerb,
  lifecycleVerbs,
  type OperationOptions,
  type OperationReason,
} from "../protocol/lifecycle-verbs.ts";
import { findBusy } from "./busy.ts";
import { listHomes } from "./homes.ts";
import type { SandboxRecord } from "./lease.ts";
import type { LifecycleContext } from "./lifecycle-context.ts";
import { findOpenOperation, type OperationRow } from "./operation.ts";

export interface OperationRequest {
  sandboxId: string;
  verb: LifecycleVerb;
  options?: OperationOptions;
  /** Why the server itself asks; a person asks when there is none. */
  reason?: OperationReason;
}

/**
 * Writes down what a person wants, for whoever holds the sandbox's lease. The same verb joins what is open; all
 * else is refused with what runs. `not-found` for a sandbox that is unknown or out of the viewer's reach.
 */
export async function requestOperation(
  { database, deadlines, home }: Pick<LifecycleContext, "database" | "deadlines" | "home">,
  viewer: Actor,
  { sandboxId, verb, options = {}, reason = "asked" }: OperationRequest,
): Promise<OperationRow> {
  return database.transaction(viewer, async (tx) => {
    const [sandbox] = await tx.select().from(sandboxes).where(eq(sandboxes.id, sandboxId)).for("no key update");
    if (!sandbox) throw new AppError("not-found", "There is no such sandbox.");
    await tx
      .update(operations)
      .set({ state: "failed", cause: "No server took this up in time. Try again.", endedAt: sql`now()` })
      .where(
        and(
          eq(operations.sandboxId, sandboxId),
          eq(operations.state, "requested"),
          sql`${operations.deadlineAt} < now()`,
        ),
      );
    const open = await findOpenOperation(tx, sandboxId);
    if (open?.verb === verb) {
      if (Boolean(open.options.files) === Boolean(options.files)) return open;
      throw new AppError("conflict", "This sandbox is being reset already, with another choice about its files.");
    }
    const refusal = lifecycleRefusal({ state: sandbox.observedState, open, now: new Date() }, verb);
    if (refusal) throw new AppError("conflict", refusal);
    if (sandbox.homeId !== home.id) await requireHome(tx, sandbox);
    if (verb === "sleep") {
      const busy = await findBusy(tx, sandboxId);
      if (busy) throw new AppError("conflict", `${busy} Stop it first, or wait until it is done.`);
    }
    if (open) {
      await tx
        .update(operations)
        .set({ state: "cancelled", cause: `Somebody asked for it to ${spokenVerbs[verb]}.`, endedAt: sql`now()` })
        .where(and(eq(operations.id, open.id), inArray(operations.state, ["requested", "running"])));
    }
    const [made] = await tx
      .insert(operations)
      .values({
        tenantId: sandbox.tenantId,
        userId: sandbox.userId,
        sandboxId,
        verb,
        state: "requested",
        phase: lifecycleVerbs[verb].phases[0],
        reason,
        requestedBy: reason === "asked" ? viewer.userId : null,
        options,
        leaseEpoch: sandbox.leaseEpoch,
        startedAt: null,
        deadlineAt: sql`now() + make_interval(secs => ${deadlines.requestMilliseconds / 1000})`,
      })
      .returning();
    if (!made) throw new Error("The operation was not stored.");
    return made;
  });
}

/** Nobody else can do anything with it: said at once, instead of when nobody took it up. */
async function requireHome(tx: Transaction, { homeId }: SandboxRecord): Promise<void> {
  const home = (await listHomes(tx)).find(({ id }) => id === homeId);
  if (home?.isAway) throw new AppError("conflict", awayRefusal(home.machine));
}
