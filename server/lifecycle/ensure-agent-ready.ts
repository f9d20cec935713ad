import type { SidecarHealth } from "../protocol/sidecar.ts";
import type { Look, RunningSandbox } from "./index.ts";
import type { HeldSandbox, LifecycleContext } from "./lifecycle-context.ts";
import { healthOrGone, waitForAgent } from "./open-sidecar.ts";
import type { ReportPhase } from "./phase-reporter.ts";
import { loadConfig, refreshConfig, restartAgent } from "./refresh-agent-config.ts";

/** What is looked at before a turn, side by side, since every turn waits for it. */
interface BegunLook {
  at: number;
  held: HeldSandbox;
  /** What the agent ran with then. */
  configHash: string | null;
  /** Null when the sandbox is gone. */
  health: Promise<SidecarHealth | null>;
  touching: Promise<void>;
  loading: Promise<{ config: Record<string, unknown>; hash: string }>;
}

/**
 * Before a turn: the sidecar proves itself, the agent runs, and with the models it should know. False when
 * the sandbox is gone; throws when it is there and not usable.
 */
export function ensureAgentReady(
  context: LifecycleContext,
  held: HeldSandbox,
  options: { sessionId: string; look?: Look | null; reportPhase: ReportPhase; signal: AbortSignal },
): Promise<boolean> {
  const { reportPhase, signal } = options;
  return held.serial.run(async () => {
    if (held.lost.signal.aborted) return false;
    const { health: looking, loading, touching } = find(held, options.look) ?? begin(context, held, signal);
    const health = await looking;
    signal.throwIfAborted();
    if (!health) return false;
    if (health.agent.state !== "running") await reviveAgent(context, held, { reportPhase, signal });
    await refreshConfig(context, held, { asking: options.sessionId, reportPhase, signal, loading });
    await touching;
    return true;
  });
}

/** Begins before the turn is there. */
export function beginLook(
  context: LifecycleContext,
  held: HeldSandbox,
  { sandbox, signal }: { sandbox: RunningSandbox; signal: AbortSignal },
): Look {
  const look = { sandbox };
  begunLooks.set(look, begin(context, held, signal));
  return look;
}

/** What a look holds is nobody else's business. */
const begunLooks = new WeakMap<Look, BegunLook>();

function begin(context: LifecycleContext, held: HeldSandbox, signal: AbortSignal): BegunLook {
  const begun = {
    at: performance.now(),
    held,
    configHash: held.configHash,
    health: healthOrGone(context, { ...held, lost: held.lost.signal, signal }),
    touching: context.leases.markActive(held.lease),
    loading: loadConfig(context, held.lease.actor),
  };
  for (const look of [begun.health, begun.touching, begun.loading]) look.catch(() => {});
  return begun;
}

/** Null for one of another life, or from before the agent's last restart, whose configuration may be an older one. */
function find(held: HeldSandbox, look: Look | null | undefined): BegunLook | null {
  const begun = look && begunLooks.get(look);
  if (!begun || begun.held !== held || begun.configHash !== held.configHash) return null;
  return performance.now() - begun.at < maxLookMilliseconds ? begun : null;
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
