import { and, eq, inArray, sql } from "drizzle-orm";
import type { Transaction } from "../../db/client.ts";
import { operations, sandboxes } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import {
  decidedPhase,
  type LifecycleVerb,
  lifecycleVerbs,
  type OperationOptions,
  type OperationReason,
} from "../protocol/lifecycle-verbs.ts";
import type { SandboxState } from "../protocol/sandbox.ts";
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

/** From which states it can be asked for. */
const begunFrom: Record<LifecycleVerb, readonly SandboxState[]> = {
  wake: ["sleeping", "failed", "terminated", "running"],
  sleep: ["running"],
  recover: ["running", "failed", "provisioning"],
  reset: ["running", "sleeping", "failed", "terminated", "provisioning"],
  "restart-agent": ["running"],
};

/** These are more pressing than a sleep that is not decided yet. */
const callsOffSleep: readonly LifecycleVerb[] = ["wake", "recover", "reset"];

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
    if (open && !mayCallOff(open, verb)) throw new AppError("conflict", underWay(open));
    requireState(sandbox, verb);
    if (sandbox.homeId !== home.id) await requireHome(tx, sandbox);
    if (verb === "sleep") {
      const busy = await findBusy(tx, sandboxId);
      if (busy) throw new AppError("conflict", `${busy} Stop it first, or wait until it is done.`);
    }
    if (open) {
      await tx
        .update(operations)
        .set({ state: "cancelled", cause: `Somebody asked for it to ${spoken[verb]}.`, endedAt: sql`now()` })
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

function mayCallOff(open: OperationRow, verb: LifecycleVerb): boolean {
  return open.verb === "sleep" && open.phase !== decidedPhase && callsOffSleep.includes(verb);
}

function requireState({ observedState }: SandboxRecord, verb: LifecycleVerb): void {
  if (begunFrom[verb].includes(observedState)) return;
  const is = observedState === "provisioning" ? "is just starting" : `is ${shownStates[observedState]}`;
  throw new AppError("conflict", `This sandbox ${is}, so it cannot ${spoken[verb]} now.`);
}

/** Nobody else can do anything with it: said at once, instead of when nobody took it up. */
async function requireHome(tx: Transaction, { homeId }: SandboxRecord): Promise<void> {
  const home = (await listHomes(tx)).find(({ id }) => id === homeId);
  if (!home?.isAway) return;
  throw new AppError("conflict", `${home.machine} is away, and nobody else can reach this sandbox.`);
}

const spoken: Record<LifecycleVerb, string> = {
  wake: "wake up",
  sleep: "go to sleep",
  recover: "recover",
  reset: "be reset",
  "restart-agent": "restart its agent",
};

const shownStates: Record<Exclude<SandboxState, "provisioning">, string> = {
  running: "awake",
  sleeping: "asleep",
  failed: "broken",
  terminated: "not started",
};

const doing: Record<LifecycleVerb, string> = {
  wake: "waking up",
  sleep: "going to sleep",
  recover: "being recovered",
  reset: "being reset",
  "restart-agent": "restarting its agent",
};

function underWay({ verb }: OperationRow): string {
  return `This sandbox is ${doing[verb]}. Try again when that is done.`;
}
