import { setTimeout as sleep } from "node:timers/promises";
import type { SidecarHealth } from "../protocol/sidecar.ts";
import { loadConfig, refreshConfig, restartAgent } from "./agent-config.ts";
import type { WakePhase } from "./index.ts";
import type { HeldSandbox, LifecycleContext } from "./lifecycle-context.ts";
import { requireHealth, waitForAgent } from "./open-sidecar.ts";

/**
 * Before a turn: the sidecar proves itself, the agent runs, and with the models it should know. False when
 * the sandbox is gone; throws when it is there and not usable.
 */
export function makeFit(
  context: LifecycleContext,
  held: HeldSandbox,
  options: { sessionId: string; say: (phase: WakePhase) => void; signal: AbortSignal },
): Promise<boolean> {
  const { say, signal } = options;
  return held.serial.run(async () => {
    if (held.lost.signal.aborted) return false;
    // Side by side, since every turn waits for it.
    const touching = context.leases.touch(held.lease);
    const loading = loadConfig(context, held.lease.actor);
    for (const started of [touching, loading]) started.catch(() => {});
    const health = await healthOrGone(context, held, signal);
    if (!health) return false;
    if (health.agent.state !== "running") await reviveAgent(context, held, { say, signal });
    await refreshConfig(context, held, { asking: options.sessionId, say, signal, loading });
    await touching;
    return true;
  });
}

// A machine under load may let one look fail; the person would rather wait a moment than send it again.
const goneMilliseconds = 20_000;

/** A sandbox that is just ending answers no more and is still there for a moment: null once it is gone. */
async function healthOrGone(
  context: LifecycleContext,
  held: HeldSandbox,
  signal: AbortSignal,
): Promise<SidecarHealth | null> {
  const deadline = Date.now() + goneMilliseconds;
  for (;;) {
    try {
      return await requireHealth(context, held.sidecar, signal);
    } catch (error) {
      signal.throwIfAborted();
      const report = await context.backend.report(held.lease.sandboxId, { backend: "local" }, signal);
      if (report === "gone" || held.lost.signal.aborted) return null;
      if (Date.now() >= deadline) throw error;
      await sleep(100, undefined, { signal });
    }
  }
}

async function reviveAgent(
  context: LifecycleContext,
  held: HeldSandbox,
  { say, signal }: { say: (phase: WakePhase) => void; signal: AbortSignal },
): Promise<void> {
  say({ phase: "starting-agent", message: "Starting the agent" });
  try {
    await waitForAgent(context, held.sidecar, signal);
  } catch {
    signal.throwIfAborted();
    say({ phase: "restarting-agent", message: "Restarting the agent" });
    const { config } = await loadConfig(context, held.lease.actor);
    await restartAgent(context, held, { config, signal });
  }
}
