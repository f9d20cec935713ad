import { decidedPhase, type LifecycleVerb } from "../protocol/lifecycle-verbs.ts";
import type { SandboxBackend } from "../sandboxes/sandbox-backend.ts";
import type { Lease, SandboxRecord } from "./lease.ts";
import type { LifecycleContext } from "./lifecycle-context.ts";
import { failInterrupted, findOpenOperation, type OperationRow, resumeOperation } from "./operation.ts";
import { resetSandbox } from "./reset-sandbox.ts";
import { finishSleep } from "./sleep-sandbox.ts";

/**
 * What comes before anything else under a new lease: an operation that its holder left half done is finished, where
 * it had come past the point of no return, or has failed; and a reset that was asked for is carried out, so that
 * nobody wakes with what was to be forgotten. True when that ended the sandbox: then the lease was let go of.
 */
export async function settleOpen(
  context: LifecycleContext,
  taken: { lease: Lease; row: SandboxRecord; backend: SandboxBackend; signal: AbortSignal },
): Promise<boolean> {
  const { lease, row, backend, signal } = taken;
  const open = await context.database.transaction(lease.actor, (tx) => findOpenOperation(tx, lease.sandboxId));
  if (!open) return false;
  if (open.verb === "reset") {
    await resetSandbox(context, { lease, row, sidecar: null, signal });
    return true;
  }
  if (open.state === "requested") return false;
  if (isVerb(open, "sleep") && open.phase === decidedPhase) {
    await finishSleep(context, { lease, backend, address: row.address }, resumeOperation(context.leases, lease, open));
    return true;
  }
  await context.leases.write(lease, (tx) => failInterrupted(tx, lease.sandboxId));
  return false;
}

function isVerb<Verb extends LifecycleVerb>(row: OperationRow, verb: Verb): row is OperationRow & { verb: Verb } {
  return row.verb === verb;
}
