import { isAppError } from "../errors.ts";
import { createSerial } from "../lib/serial.ts";
import type { SandboxAddress } from "../sandboxes/sandbox-backend.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import type { Lease, SandboxRecord } from "./lease.ts";
import type { HeldSandbox, LifecycleContext } from "./lifecycle-context.ts";
import { healthOrGone, openBootSecret, openSidecar } from "./open-sidecar.ts";

/**
 * A sandbox that a server before this one left: kept when it proves itself with its boot's secret and
 * speaks our protocol, otherwise ended, with the cause on its row. Null when it was not kept.
 */
export async function adoptSandbox(
  context: LifecycleContext,
  { lease, row, signal }: { lease: Lease; row: SandboxRecord; signal: AbortSignal },
): Promise<HeldSandbox | null> {
  const { backend, leases, deadlines } = context;
  const outcome = await prove(context, { lease, row, signal });
  if ("sidecar" in outcome) {
    const lost = new AbortController();
    const { agentConfigHash: configHash } = row;
    return { lease, sidecar: outcome.sidecar, lost, serial: createSerial(), configHash, configIsStale: false };
  }
  signal.throwIfAborted();
  // Another server may have come meanwhile.
  if (!(await leases.renew(lease))) return null;
  await backend.terminate(row.id, null, AbortSignal.timeout(deadlines.terminateMilliseconds));
  await leases.update(lease, { observedState: "failed", stateCause: outcome.cause });
  await leases.release(lease);
  return null;
}

const gone = { cause: "The sandbox ended while the server was away." };

async function prove(
  context: LifecycleContext,
  { lease, row, signal }: { lease: Lease; row: SandboxRecord; signal: AbortSignal },
): Promise<{ sidecar: SidecarClient } | { cause: string }> {
  const address = row.address as SandboxAddress | null;
  if (row.observedState !== "running" || !address || !row.bootId || !row.bootSecretEncrypted) {
    return { cause: "The server ended while the sandbox was starting." };
  }
  try {
    if ((await context.backend.report(row.id, address, signal)) === "gone") return gone;
    const bootSecret = openBootSecret(context, row.id, row.bootSecretEncrypted);
    const sidecar = await openSidecar(context, { lease, bootId: row.bootId, bootSecret, address });
    return (await healthOrGone(context, { sidecar, signal })) ? { sidecar } : gone;
  } catch (error) {
    context.logger.warn({ err: error, sandboxId: row.id }, "A sandbox could not be taken over");
    return { cause: isAppError(error) ? error.message : "The sandbox could not prove its identity." };
  }
}
