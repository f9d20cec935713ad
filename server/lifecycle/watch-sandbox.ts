import { setTimeout as sleep } from "node:timers/promises";
import { causes } from "../protocol/causes.ts";
import type { HeldSandbox, LifecycleContext } from "./lifecycle-context.ts";
import { requireHealth } from "./open-sidecar.ts";

/**
 * Resolves with the cause once the sandbox is lost; with null when `held.lost` was aborted by somebody
 * else. Unreachable is not dead: it is lost when its backend says that it is gone, or after a quarantine
 * in which it was there but answered nothing. Time in which this process itself stood still, as on a machine
 * that was suspended, is no silence of the sandbox.
 */
export async function watchSandbox(context: LifecycleContext, held: HeldSandbox): Promise<string | null> {
  const { deadlines } = context;
  const { backend, address, lease } = held;
  const { signal } = held.lost;
  let healthDue = Date.now() + deadlines.healthEveryMilliseconds;
  let askedAt = Date.now();
  let silence = 0;
  for (;;) {
    await sleep(deadlines.reportEveryMilliseconds, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return null;
    const report = await backend.report(lease.sandboxId, address, signal).catch(() => "unknown" as const);
    if (signal.aborted) return null;
    if (report === "gone") return causes["sandbox-ended"].message;
    if (Date.now() < healthDue) continue;
    healthDue = Date.now() + deadlines.healthEveryMilliseconds;
    const healthy = await requireHealth(context, held.sidecar, signal).then(
      () => true,
      () => false,
    );
    const maxSilence = deadlines.healthEveryMilliseconds + deadlines.healthMilliseconds;
    silence = healthy ? 0 : silence + Math.min(Date.now() - askedAt, maxSilence);
    askedAt = Date.now();
    if (silence > deadlines.quarantineMilliseconds) {
      return causes["sandbox-silent"].message;
    }
  }
}
