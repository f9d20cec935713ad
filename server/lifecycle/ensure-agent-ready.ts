import type { HeldSandbox, LifecycleContext, Look } from "./lifecycle-context.ts";
import { healthOrGone, waitForAgent } from "./open-sidecar.ts";
import type { ReportPhase } from "./phase-reporter.ts";
import { loadConfig, refreshConfig, restartAgent } from "./refresh-agent-config.ts";

/**
 * Before a turn: the sidecar proves itself, the agent runs, and with the models it should know. False when
 * the sandbox is gone; throws when it is there and not usable.
 */
export function ensureAgentReady(
  context: LifecycleContext,
  held: HeldSandbox,
  options: { sessionId: string; reportPhase: ReportPhase; signal: AbortSignal },
): Promise<boolean> {
  const { reportPhase, signal } = options;
  return held.serial.run(async () => {
    if (held.lost.signal.aborted) return false;
    const { health: looking, loading, touching } = takeLook(held) ?? beginLook(context, held, signal);
    const health = await looking;
    signal.throwIfAborted();
    if (!health) return false;
    if (health.agent.state !== "running") await reviveAgent(context, held, { reportPhase, signal });
    await refreshConfig(context, held, { asking: options.sessionId, reportPhase, signal, loading });
    await touching;
    return true;
  });
}

/** Also before the turn is there. It belongs to one turn. */
export function beginLook(context: LifecycleContext, held: HeldSandbox, signal: AbortSignal): Look {
  const look = {
    at: performance.now(),
    configHash: held.configHash,
    health: healthOrGone(context, { ...held, lost: held.lost.signal, signal }),
    touching: context.leases.markActive(held.lease),
    loading: loadConfig(context, held.lease.actor),
  };
  for (const begun of [look.health, look.touching, look.loading]) begun.catch(() => {});
  return look;
}

/** Not one from before the agent's last restart, whose configuration may be an older one. */
function takeLook(held: HeldSandbox): Look | null {
  const { look } = held;
  held.look = null;
  if (!look || look.configHash !== held.configHash) return null;
  return performance.now() - look.at < maxLookMilliseconds ? look : null;
}

const maxLookMilliseconds = 1_000;

async function reviveAgent(
  context: LifecycleContext,
  held: HeldSandbox,
  { reportPhase, signal }: { reportPhase: ReportPhase; signal: AbortSignal },
): Promise<void> {
  reportPhase({ phase: "starting-agent", message: "Starting the agent" });
  try {
    await waitForAgent(context, held.sidecar, signal);
  } catch {
    signal.throwIfAborted();
    reportPhase({ phase: "restarting-agent", message: "Restarting the agent" });
    const { config } = await loadConfig(context, held.lease.actor);
    await restartAgent(context, held, { config, signal });
  }
}
