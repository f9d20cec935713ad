import type { SandboxAddress } from "../protocol/sandbox.ts";
import type { SandboxBackend } from "../sandboxes/sandbox-backend.ts";
import type { Lease, SandboxChanges } from "./lease.ts";
import type { LifecycleContext } from "./lifecycle-context.ts";

export interface SandboxEnd {
  lease: Lease;
  backend: SandboxBackend;
  /** Of the life that ends. */
  address: SandboxAddress | null;
  /** What its row says once nothing of it runs any more. */
  changes: SandboxChanges;
  /** Also written under the lease, before it is let go of: the end of an operation. */
  andWrite?: () => Promise<void>;
  /** Aborted: no more patience, the end is forced. In any case it is after `terminateMilliseconds`. */
  signal?: AbortSignal;
  terminateMilliseconds?: number;
}

/**
 * The one way in which a sandbox ends: lease renewed → terminated → written → lease let go of. False when the lease
 * was superseded meanwhile: then another server runs it, and nothing was done. When it throws, the row is as it
 * was and the lease still held: whatever runs is ended by its next holder.
 */
export async function endSandbox({ leases, deadlines }: LifecycleContext, end: SandboxEnd): Promise<boolean> {
  const { lease, backend, address, changes, andWrite } = end;
  if (!(await leases.renew(lease))) return false;
  const late = AbortSignal.timeout(end.terminateMilliseconds ?? deadlines.terminateMilliseconds);
  await backend.terminate(lease.sandboxId, address, end.signal ? AbortSignal.any([end.signal, late]) : late);
  await leases.update(lease, changes);
  await andWrite?.();
  await leases.release(lease);
  return true;
}
