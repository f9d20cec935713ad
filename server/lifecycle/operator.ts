import { eq, sql } from "drizzle-orm";
import { z } from "zod";
import { sandboxes as table } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { isAppError } from "../errors.ts";
import { createLoop } from "../lib/loop.ts";
import { causes } from "../protocol/causes.ts";
import { sandboxId as sandboxIdSchema, tenantId, userId } from "../protocol/ids.ts";
import type { HeldSandboxes } from "./held-sandboxes.ts";
import type { Lease, SandboxRecord } from "./lease.ts";
import { type HeldSandbox, type LifecycleContext, toOwned } from "./lifecycle-context.ts";
import { beginOperation, findOpenOperation, type OperationRow, resumeOperation } from "./operation.ts";
import { recoverSandbox } from "./recover-sandbox.ts";
import { loadConfig, restartAgent } from "./refresh-agent-config.ts";
import { resetSandbox } from "./reset-sandbox.ts";
import { sleepSandbox } from "./sleep-sandbox.ts";

export const operationsChannel = "dormouse_operations";

/** Carries out what was asked for, through any replica, of sandboxes that this process holds or that nobody holds. */
export interface Operator {
  start(): void;
  /** Something was asked for; whoever can do it does. Returns at once. */
  tell(sandbox: { sandboxId: string; actor: Actor }): void;
  /** What runs is left to the next holder, or finished where it cannot be left. */
  close(): Promise<void>;
}

const requested = z.object({ sandbox_id: sandboxIdSchema, tenant_id: tenantId, user_id: userId });

export function createOperator(
  context: LifecycleContext,
  {
    sandboxes,
    wake,
    findHeld,
    stopping,
  }: {
    sandboxes: HeldSandboxes;
    /** As for a turn. Throws where another server holds it. */
    wake(sandboxId: string, actor: Actor): Promise<HeldSandbox>;
    /** Also takes over what a gone server left. */
    findHeld(sandboxId: string, actor: Actor): Promise<HeldSandbox | null>;
    stopping: AbortSignal;
  },
): Operator {
  const { database, logger, leases, deadlines } = context;
  /** At work for these; `true`: something more was asked for meanwhile. */
  const working = new Map<string, boolean>();

  function tell({ sandboxId, actor }: { sandboxId: string; actor: Actor }): void {
    if (stopping.aborted) return;
    if (working.has(sandboxId)) {
      working.set(sandboxId, true);
      void callOffCancelled(sandboxId, actor).catch(() => {});
      return;
    }
    working.set(sandboxId, false);
    sandboxes.inBackground(work(sandboxId, actor), "What was asked for of a sandbox was not carried out");
  }

  async function work(sandboxId: string, actor: Actor): Promise<void> {
    try {
      do {
        working.set(sandboxId, false);
        const held = sandboxes.get(sandboxId);
        if (held && !held.sleep) await context.archives.clearRemoved(toOwned(held), stopping);
        await takeUp(sandboxId, actor);
      } while (working.get(sandboxId) && !stopping.aborted);
    } finally {
      working.delete(sandboxId);
    }
  }

  /** A sleep of ours that somebody cancelled by asking for something else is heard of before its next write. */
  async function callOffCancelled(sandboxId: string, actor: Actor): Promise<void> {
    const sleep = sandboxes.get(sandboxId)?.sleep;
    if (!sleep) return;
    const open = await readOpen(sandboxId, actor);
    if (open?.verb !== "sleep") await sleep.callOff("Something else was asked for.");
  }

  const readOpen = (sandboxId: string, actor: Actor) =>
    database.transaction(actor, (tx) => findOpenOperation(tx, sandboxId));

  async function takeUp(sandboxId: string, actor: Actor): Promise<void> {
    const open = await readOpen(sandboxId, actor);
    const held = sandboxes.get(sandboxId) ?? (open?.state === "requested" ? await findHeld(sandboxId, actor) : null);
    if (held && open?.state === "running") await failForgotten(held, open);
    if (open?.state !== "requested") return;
    if (held) await carryOut(held, open);
    else await carryOutUnheld(sandboxId, actor, open);
  }

  /** Nobody is at work on it any more: its end could not be written. */
  async function failForgotten({ lease }: HeldSandbox, open: OperationRow): Promise<void> {
    if (open.deadlineAt > new Date()) return;
    await resumeOperation(leases, lease, open).fail("It was interrupted, and its outcome could not be recorded.");
  }

  async function carryOut(held: HeldSandbox, open: OperationRow): Promise<void> {
    const { lease } = held;
    const { sandboxId } = lease;
    if (open.verb === "sleep") {
      await sleepSandbox(context, sandboxes, held, { reason: open.reason, signal: stopping });
    } else if (open.verb === "wake") {
      const begin = { verb: "wake", reason: open.reason, deadlineMilliseconds: deadlines.wakeMilliseconds } as const;
      await (await beginOperation(leases, lease, begin)).succeed();
    } else if (open.verb === "restart-agent") {
      await restart(held, open);
    } else {
      const isReset = open.verb === "reset";
      const why = isReset ? "The sandbox is being reset." : "The sandbox is being recovered.";
      if (!sandboxes.letGo(held, why)) return;
      await sandboxes.change(sandboxId, async () => {
        const row = await readRow(lease);
        const input = { lease, row, sidecar: held.sidecar, signal: stopping };
        if (isReset) await resetSandbox(context, input);
        else await recover(input);
      });
    }
  }

  /** Nothing of it runs, as far as anybody here can tell. */
  async function carryOutUnheld(sandboxId: string, actor: Actor, open: OperationRow): Promise<void> {
    if (open.verb === "wake") {
      await wake(sandboxId, actor).catch(noted(sandboxId));
      return;
    }
    await sandboxes.change(sandboxId, async () => {
      const taken = await leases.take(actor, sandboxId);
      // Its holder hears of it too.
      if (!taken) return;
      const input = { ...taken, sidecar: null, signal: stopping };
      if (open.verb === "reset") return resetSandbox(context, input);
      if (open.verb === "recover") return recover(input);
      const begin = { verb: open.verb, reason: open.reason, deadlineMilliseconds: 0 } as const;
      await (await beginOperation(leases, taken.lease, begin)).fail("The sandbox is not awake any more.");
      await leases.release(taken.lease);
    });
  }

  async function recover(input: {
    lease: Lease;
    row: SandboxRecord;
    sidecar: HeldSandbox["sidecar"] | null;
    signal: AbortSignal;
  }): Promise<void> {
    try {
      sandboxes.hold(await recoverSandbox(context, { ...input, reason: "asked", reportPhase: () => {} }));
    } catch (error) {
      await leases.release(input.lease).catch(() => {});
      noted(input.lease.sandboxId)(error);
    }
  }

  async function restart(held: HeldSandbox, open: OperationRow): Promise<void> {
    const { lease } = held;
    const begin = { verb: "restart-agent", reason: open.reason } as const;
    await held.serial.run(async () => {
      const deadlineMilliseconds = deadlines.agentStartMilliseconds;
      const operation = await beginOperation(leases, lease, { ...begin, deadlineMilliseconds });
      try {
        const { config, hash } = await loadConfig(context, lease.actor);
        await restartAgent(context, held, { config, signal: stopping });
        await leases.update(lease, { agentConfigHash: hash });
        Object.assign(held, { configHash: hash, configIsStale: false });
        await operation.succeed();
      } catch (error) {
        await operation.fail(isAppError(error) ? error.message : causes.internal.message);
        throw error;
      }
    });
  }

  async function readRow({ actor, sandboxId }: Lease): Promise<SandboxRecord> {
    const [row] = await database.transaction(actor, (tx) => tx.select().from(table).where(eq(table.id, sandboxId)));
    if (!row) throw new Error("The sandbox's row is gone.");
    return row;
  }

  /** The operation says why. */
  const noted = (sandboxId: string) => (error: unknown) => {
    if (!isAppError(error)) throw error;
    logger.warn({ err: error, sandboxId }, "What was asked for of a sandbox failed");
  };

  async function look(): Promise<void> {
    const rows = await database.transaction("nobody", (tx) =>
      tx.execute(sql`select * from list_requested_operations()`),
    );
    for (const row of rows) {
      const { sandbox_id: sandboxId, tenant_id, user_id } = requested.parse(row);
      tell({ sandboxId, actor: { tenantId: tenant_id, userId: user_id, role: "user" } });
    }
  }

  const looking = createLoop({
    name: "requested-operations",
    everyMilliseconds: deadlines.requestsEveryMilliseconds,
    logger,
    run: look,
  });
  const listener = database.listen([operationsChannel], {
    onNotify(_channel, payload) {
      const [sandboxId, tenant, user] = payload.split(" ");
      const found = requested.safeParse({ sandbox_id: sandboxId, tenant_id: tenant, user_id: user });
      if (!found.success) return;
      const { tenant_id, user_id } = found.data;
      tell({ sandboxId: found.data.sandbox_id, actor: { tenantId: tenant_id, userId: user_id, role: "user" } });
    },
    onReady: () =>
      void looking.runNow().catch((error: unknown) => logger.error({ err: error }, "Requests were missed")),
  });

  return {
    start: () => looking.start(),
    tell,
    async close() {
      await Promise.all([listener.close(), looking.stop()]);
    },
  };
}
