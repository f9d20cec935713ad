import { isAppError } from "../errors.ts";
import type { SandboxAddress } from "../protocol/sandbox.ts";
import type { SandboxBackend } from "../sandboxes/sandbox-backend.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { endSandbox } from "./end-sandbox.ts";
import type { Lease, SandboxRecord } from "./lease.ts";
import { type HeldSandbox, type LifecycleContext, toHeld } from "./lifecycle-context.ts";
import { healthOrGone, openBootSecret, openSidecar } from "./open-sidecar.ts";
import { settleOpen } from "./settle-open.ts";

interface Adoption {
  lease: Lease;
  row: SandboxRecord;
  backend: SandboxBackend;
  signal: AbortSignal;
}

/**
 * A sandbox that a server before this one left: kept when it proves itself with its boot's secret and
 * speaks our protocol, otherwise ended, with the cause on its row. Null when it was not kept.
 */
export async function adoptSandbox(context: LifecycleContext, adoption: Adoption): Promise<HeldSandbox | null> {
  const { lease, row, backend, signal } = adoption;
  if (await settleOpen(context, adoption)) return null;
  const outcome = await prove(context, adoption);
  if ("sidecar" in outcome) {
    // Its server may have been putting it to sleep.
    await outcome.sidecar.resume(signal);
    return toHeld({ lease, backend, ...outcome, configHash: row.agentConfigHash });
  }
  signal.throwIfAborted();
  const changes = { observedState: "failed", stateCause: outcome.cause } as const;
  await endSandbox(context, { lease, backend, address: row.address, changes });
  return null;
}

const gone = { cause: "The sandbox ended while the server was away." };

async function prove(
  context: LifecycleContext,
  { lease, row, backend, signal }: Adoption,
): Promise<{ sidecar: SidecarClient; address: SandboxAddress } | { cause: string }> {
  const { address } = row;
  if (row.observedState !== "running" || !address || !row.bootId || !row.bootSecretEncrypted) {
    return { cause: "The server ended while the sandbox was starting." };
  }
  try {
    if ((await backend.report(row.id, address, signal)) === "gone") return gone;
    const bootSecret = openBootSecret(context, row.id, row.bootSecretEncrypted);
    const sidecar = await openSidecar(context, { lease, bootId: row.bootId, bootSecret, backend, address });
    return (await healthOrGone(context, { backend, address, sidecar, signal })) ? { sidecar, address } : gone;
  } catch (error) {
    context.logger.warn({ err: error, sandboxId: row.id }, "A sandbox could not be taken over");
    return { cause: isAppError(error) ? error.message : "The sandbox could not prove its identity." };
  }
}
