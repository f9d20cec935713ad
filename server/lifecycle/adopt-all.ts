import { eq, sql } from "drizzle-orm";
import { z } from "zod";
import { sandboxes } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { tenantId, userId } from "../protocol/ids.ts";
import { adoptSandbox } from "./adopt-sandbox.ts";
import { renewWhile } from "./lease.ts";
import type { HeldSandbox, LifecycleContext } from "./lifecycle-context.ts";

const liveSandbox = z.object({
  sandbox_id: z.uuid(),
  tenant_id: tenantId,
  user_id: userId,
  lease_expires_at: z.coerce.date().nullable(),
});

/** Runs one adoption and holds what it brings; whoever wants to wake that sandbox waits for it. */
export type TakeOver = (sandboxId: string, adopt: () => Promise<HeldSandbox | null>) => Promise<HeldSandbox | null>;

/**
 * Every sandbox that is said to be awake and whose lease can be had: kept or ended. What runs here without
 * being said to be awake is ended, since a later wake must not find it. One that fails does not hinder others.
 */
export async function adoptAll(
  context: LifecycleContext,
  { takeOver, signal }: { takeOver: TakeOver; signal: AbortSignal },
): Promise<HeldSandbox[]> {
  const live = await listLive(context);
  await endOrphans(context, new Set(live.map(({ sandboxId }) => sandboxId)), signal);
  const adopted: HeldSandbox[] = [];
  for (const batch of inBatches(live, 8)) {
    signal.throwIfAborted();
    const outcomes = await Promise.all(
      batch.map(({ sandboxId, actor }) => takeOver(sandboxId, () => adoptOne(context, actor, { sandboxId, signal }))),
    );
    adopted.push(...outcomes.filter((sandbox) => sandbox !== null));
  }
  return adopted;
}

/**
 * While the server runs: sandboxes whose server is gone, as far as they can be reached from here. What only
 * another machine can reach is left alone, and so is what is gone: the next turn wakes it.
 */
export async function adoptLapsed(
  context: LifecycleContext,
  { isOurs, takeOver, signal }: { isOurs(sandboxId: string): boolean; takeOver: TakeOver; signal: AbortSignal },
): Promise<void> {
  for (const { sandboxId, actor, leaseExpiresAt } of await listLive(context)) {
    signal.throwIfAborted();
    // Clocks differ; the database decides when the lease is taken.
    if (isOurs(sandboxId) || (leaseExpiresAt && leaseExpiresAt.getTime() > Date.now())) continue;
    await adoptHere(context, { actor, sandboxId, onlyLapsed: true, takeOver, signal });
  }
}

/** Before a wake: what a gone server left running is kept, with all that goes on in it. */
export async function adoptBeforeWake(
  context: LifecycleContext,
  { actor, sandboxId, takeOver, signal }: { actor: Actor; sandboxId: string; takeOver: TakeOver; signal: AbortSignal },
): Promise<void> {
  await adoptHere(context, { actor, sandboxId, onlyLapsed: false, takeOver, signal });
}

async function adoptHere(
  context: LifecycleContext,
  input: { actor: Actor; sandboxId: string; onlyLapsed: boolean; takeOver: TakeOver; signal: AbortSignal },
): Promise<void> {
  const { actor, sandboxId, onlyLapsed, takeOver, signal } = input;
  const { observedState: state, backend: kind, address } = sandboxes;
  const [row] = await context.database.transaction(actor, (tx) =>
    tx.select({ state, kind, address }).from(sandboxes).where(eq(sandboxes.id, sandboxId)),
  );
  // A wake ends by itself what it finds half started; while nobody wakes it, that is done here.
  if (!row || (row.state !== "running" && !onlyLapsed)) return;
  const backend = context.backends.find(row.kind);
  const report = await backend?.report(sandboxId, row.address, signal).catch(() => "unknown" as const);
  if (report !== "present") return;
  const sandbox = await takeOver(sandboxId, () => adoptOne(context, actor, { sandboxId, signal, onlyLapsed }));
  if (sandbox) context.logger.warn({ sandboxId }, "A sandbox whose server is gone was taken over");
}

async function listLive({ database }: LifecycleContext) {
  const rows = await database.transaction("nobody", (tx) => tx.execute(sql`select * from list_live_sandboxes()`));
  return rows.map((row) => {
    const { sandbox_id, tenant_id, user_id, lease_expires_at } = liveSandbox.parse(row);
    const actor: Actor = { tenantId: tenant_id, userId: user_id, role: "user" };
    return { sandboxId: sandbox_id, actor, leaseExpiresAt: lease_expires_at };
  });
}

async function adoptOne(
  context: LifecycleContext,
  actor: Actor,
  { sandboxId, signal, onlyLapsed = false }: { sandboxId: string; signal: AbortSignal; onlyLapsed?: boolean },
): Promise<HeldSandbox | null> {
  try {
    const taken = await context.leases.take(actor, sandboxId, { onlyLapsed });
    if (!taken) return null;
    const backend = context.backends.find(taken.row.backend);
    if (backend)
      return await renewWhile(context, taken.lease, () => adoptSandbox(context, { ...taken, backend, signal }));
    await context.leases.release(taken.lease);
    return null;
  } catch (error) {
    signal.throwIfAborted();
    context.logger.error({ err: error, sandboxId }, "A sandbox could be neither taken over nor ended");
    return null;
  }
}

async function endOrphans(context: LifecycleContext, live: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
  const { backends, logger, deadlines } = context;
  const listed = await Promise.all(
    backends.all.map(async (backend) => {
      // One that does not answer now is none of the others' business.
      const sandboxes = await backend.list(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        logger.error({ err: error, backend: backend.kind }, "A backend did not say what it runs");
        return [];
      });
      return sandboxes.map((sandbox) => ({ ...sandbox, backend }));
    }),
  );
  const orphans = listed.flat().filter(({ sandboxId, running }) => running && !live.has(sandboxId));
  const ends = orphans.map(async ({ sandboxId, address, backend }) => {
    logger.warn({ sandboxId }, "A sandbox was running that should not be awake: ending it");
    await backend.terminate(sandboxId, address, AbortSignal.timeout(deadlines.terminateMilliseconds));
  });
  for (const outcome of await Promise.allSettled(ends)) {
    if (outcome.status === "rejected") logger.error({ err: outcome.reason }, "An orphan could not be ended");
  }
}

function* inBatches<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
