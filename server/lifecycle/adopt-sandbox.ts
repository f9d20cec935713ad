import { isAppError } from "../errors.ts";
import type { SandboxAddress } from "../protocol/sandbox.ts";
import { sidecarProtocol } from "../protocol/sidecar.ts";
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
 * A sandbox that a server before this one left: kept when it proves itself with its boot's secret and speaks a protocol
 * that we understand. So is one that is there and answers nothing, since unreachable is not dead: it is watched from here
 * on, and ended after its quarantine. What is gone, or is another, is ended, with the cause on its row, and null given.
 */
export async function adoptSandbox(context: LifecycleContext, adoption: Adoption): Promise<HeldSandbox | null> {
  const { lease, row, backend, signal } = adoption;
  if (await settleOpen(context, adoption)) return null;
  const outcome = await prove(context, adoption);
  if ("cause" in outcome) {
    signal.throwIfAborted();
    const changes = { observedState: "failed", stateCause: outcome.cause } as const;
    await endSandbox(context, { lease, backend, address: row.address, changes });
    return null;
  }
  const { sidecar, address, protocol } = outcome;
  const isOutdated = protocol !== null && protocol < sidecarProtocol;
  // Its server may have been putting it to sleep.
  if (protocol === sidecarProtocol) await sidecar.resume(signal);
  return toHeld({ lease, backend, sidecar, address, configHash: row.agentConfigHash, isOutdated });
}

const gone = { cause: "The sandbox ended while the server was away." };

/** `protocol`: null where it did not answer. */
async function prove(
  context: LifecycleContext,
  { lease, row, backend, signal }: Adoption,
): Promise<{ sidecar: SidecarClient; address: SandboxAddress; protocol: number | null } | { cause: string }> {
  const { address } = row;
  if (row.observedState !== "running" || !address || !row.bootId || !row.bootSecretEncrypted) {
    return { cause: "The server ended while the sandbox was starting." };
  }
  try {
    if ((await backend.report(row.id, address, signal)) === "gone") return gone;
    const bootSecret = openBootSecret(context, row.id, row.bootSecretEncrypted);
    const sidecar = await openSidecar(context, { lease, bootId: row.bootId, bootSecret, backend, address });
    try {
      const health = await healthOrGone(context, { backend, address, sidecar, signal });
      return health ? { sidecar, address, protocol: health.protocol } : gone;
    } catch (error) {
      signal.throwIfAborted();
      if (!isSilence(error)) throw error;
      context.logger.warn({ err: error, sandboxId: row.id }, "A sandbox is there and does not answer: it is watched");
      return { sidecar, address, protocol: null };
    }
  } catch (error) {
    context.logger.warn({ err: error, sandboxId: row.id }, "A sandbox could not be taken over");
    return { cause: isAppError(error) ? error.message : "The sandbox could not prove its identity." };
  }
}

function isSilence(error: unknown): boolean {
  return isAppError(error) && (error.kind === "timeout" || error.kind === "unavailable");
}
