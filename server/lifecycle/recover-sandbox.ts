import type { OperationReason } from "../protocol/lifecycle-verbs.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import type { Lease } from "./lease.ts";
import { renewWhile, type SandboxRecord } from "./lease.ts";
import { type HeldSandbox, type LifecycleContext, toOwned } from "./lifecycle-context.ts";
import { beginOperation } from "./operation.ts";
import type { ReportPhase } from "./phase-reporter.ts";
import { wakeSandbox } from "./wake-sandbox.ts";

/**
 * Archived as far as it can be, ended, and woken again. Whatever it was: this is for a sandbox that does not work. The
 * caller has let go of it. Throws as a wake does.
 */
export async function recoverSandbox(
  context: LifecycleContext,
  recovery: {
    lease: Lease;
    row: SandboxRecord;
    /** Where something of it may still answer. */
    sidecar: SidecarClient | null;
    reason: OperationReason;
    reportPhase: ReportPhase;
    signal: AbortSignal;
  },
): Promise<HeldSandbox> {
  const { leases, deadlines, archives, logger, backends } = context;
  const { lease, row, sidecar, reason, signal } = recovery;
  const { recoveryArchiveMilliseconds, wakeMilliseconds, terminateMilliseconds } = deadlines;
  return renewWhile(context, lease, async () => {
    const operation = await beginOperation(leases, lease, {
      verb: "recover",
      reason,
      deadlineMilliseconds: recoveryArchiveMilliseconds + terminateMilliseconds + wakeMilliseconds,
    });
    if (sidecar) {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(recoveryArchiveMilliseconds)]);
      const owned = { ...toOwned({ lease, sidecar, configHash: row.agentConfigHash }, patience) };
      await archives.archiveSandbox(owned, { signal: patience }).catch((error: unknown) => {
        signal.throwIfAborted();
        logger.warn({ err: error, sandboxId: row.id }, "A sandbox could not be archived before it was made anew");
      });
    }
    await operation.phase("terminating");
    const late = AbortSignal.any([signal, AbortSignal.timeout(terminateMilliseconds)]);
    await backends.require(row.backend).terminate(row.id, row.address, late);
    return wakeSandbox(context, { ...recovery, operation });
  });
}
