import { and, eq, ne } from "drizzle-orm";
import { sessions, turns } from "../../db/schema/index.ts";
import { agentConfigHash } from "../agent/index.ts";
import type { Actor } from "../auth/index.ts";
import { faultError } from "../errors.ts";
import { bounded } from "../lib/bounded.ts";
import type { HeldSandbox, LifecycleContext } from "./lifecycle-context.ts";
import { waitForAgent } from "./open-sidecar.ts";
import type { ReportPhase } from "./phase-reporter.ts";

export async function loadConfig(context: Pick<LifecycleContext, "agentConfig">, { tenantId, userId }: Actor) {
  const config = await context.agentConfig({ tenantId, userId });
  return { config, hash: agentConfigHash(config) };
}

/**
 * Restarts the agent when the models or keys it should know are others than those it runs with; while a
 * turn runs it only notes it. `asking` is the session whose turn is about to begin and does not count.
 */
export async function refreshConfig(
  context: LifecycleContext,
  held: HeldSandbox,
  options: {
    asking: string | null;
    reportPhase: ReportPhase;
    signal: AbortSignal;
    /** Where it was begun to load already. */
    loading?: ReturnType<typeof loadConfig>;
  },
): Promise<void> {
  const { config, hash } = await (options.loading ?? loadConfig(context, held.lease.actor));
  held.configIsStale = hash !== held.configHash;
  if (!held.configIsStale || (await isBusy(context, held, options.asking))) return;
  options.reportPhase({ phase: "restarting-agent", message: "Restarting the agent with the changed models" });
  await restartAgent(context, held, { config, signal: options.signal });
  await context.leases.update(held.lease, { agentConfigHash: hash });
  held.configHash = hash;
  held.configIsStale = false;
}

export async function restartAgent(
  context: LifecycleContext,
  held: HeldSandbox,
  { config, signal }: { config: Record<string, unknown>; signal: AbortSignal },
): Promise<void> {
  const either = AbortSignal.any([signal, held.lost.signal]);
  await bounded((limited) => held.sidecar.restartAgent({ config }, limited), {
    signal: either,
    milliseconds: context.deadlines.agentStartMilliseconds,
    late: () => faultError("agent-start-late"),
  });
  await waitForAgent(context, held.sidecar, either);
}

function isBusy({ database }: LifecycleContext, { lease }: HeldSandbox, asking: string | null): Promise<boolean> {
  return database.transaction(lease.actor, async (tx) => {
    const running = await tx
      .select({ id: turns.id })
      .from(turns)
      .innerJoin(sessions, eq(sessions.id, turns.sessionId))
      .where(
        and(
          eq(sessions.sandboxId, lease.sandboxId),
          eq(turns.state, "running"),
          asking === null ? undefined : ne(sessions.id, asking),
        ),
      )
      .limit(1);
    return running.length > 0;
  });
}
