import { randomBytes, randomUUID } from "node:crypto";
import { AppError, isAppError } from "../errors.ts";
import { createSerial } from "../lib/serial.ts";
import type { SandboxAddress, SandboxIsolation } from "../sandboxes/sandbox-backend.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import type { WakePhase } from "./index.ts";
import type { Lease, SandboxRecord } from "./lease.ts";
import type { HeldSandbox, LifecycleContext } from "./lifecycle-context.ts";
import { openSidecar, requireHealth, sealBootSecret, waitForAgent } from "./open-sidecar.ts";
import { beginOperation, type Operation } from "./operation.ts";
import { loadConfig } from "./refresh-agent-config.ts";
import { requireSandboxToken } from "./sandbox-token.ts";

type Say = (phase: WakePhase) => void;

/**
 * From whatever a sandbox was to `running`, as one operation. When it fails, nothing of it is left running,
 * the row says why, and the next attempt starts anew.
 */
export async function wakeSandbox(
  context: LifecycleContext,
  { lease, row, say, signal }: { lease: Lease; row: SandboxRecord; say: Say; signal: AbortSignal },
): Promise<HeldSandbox> {
  const { leases, deadlines } = context;
  const deadline = AbortSignal.timeout(deadlines.wakeMilliseconds);
  const bounded = AbortSignal.any([signal, deadline]);
  const operation = await beginOperation(leases, lease, {
    verb: "wake",
    phase: "starting-sandbox",
    deadlineMilliseconds: deadlines.wakeMilliseconds,
  });
  try {
    await leases.update(lease, { wantedState: "running", observedState: "provisioning", stateCause: null });
    say({ phase: "starting-sandbox", message: "Starting the sandbox" });
    const { sidecar, configHash, stateCause } = await boot(context, { lease, row, say, operation, signal: bounded });
    const lastActiveAt = new Date();
    await leases.update(lease, { observedState: "running", stateCause, agentConfigHash: configHash, lastActiveAt });
    await operation.succeed();
    say({ phase: "running", message: "The sandbox is running" });
    const lost = new AbortController();
    return { lease, sidecar, lost, serial: createSerial(), configHash, configIsStale: false };
  } catch (error) {
    const failure = deadline.aborted
      ? new AppError("timeout", `The sandbox was not ready within ${deadlines.wakeMilliseconds / 1000} s.`, {
          cause: error,
        })
      : error;
    const cause = isAppError(failure) ? failure.message : "The sandbox did not start. The server's log says why.";
    await settle(context, { lease, operation, cause, signal });
    say({ phase: "failed", message: cause });
    throw failure;
  }
}

async function boot(
  context: LifecycleContext,
  wake: { lease: Lease; row: SandboxRecord; say: Say; operation: Operation; signal: AbortSignal },
): Promise<{ sidecar: SidecarClient; configHash: string; stateCause: string | null }> {
  const { backend, leases, secretBox, signingKey } = context;
  const { lease, row, say, operation, signal } = wake;
  const { sandboxId } = lease;
  const sandboxToken = await requireSandboxToken({ leases, secretBox }, lease, row);
  const { config, hash } = await loadConfig(context, lease.actor);
  const bootId = randomUUID();
  const bootSecret = randomBytes(32);
  // Known before anything runs: a server that dies from here on leaves what its successor needs to prove it.
  await leases.update(lease, { bootId, bootSecretEncrypted: sealBootSecret(context, sandboxId, bootSecret) });
  const address = await backend.provision(
    {
      sandboxId,
      tenantId: lease.actor.tenantId,
      isolation: row.isolation as SandboxIsolation,
      launch: {
        sandboxId,
        bootId,
        publicKey: signingKey.publicKey,
        bootSecret: bootSecret.toString("base64"),
        sandboxToken,
        agentConfig: config,
      },
      previous: row.address as SandboxAddress | null,
    },
    signal,
  );
  await leases.update(lease, { address });
  const sidecar = await openSidecar(context, { lease, bootId, bootSecret, address });
  await requireHealth(context, sidecar, signal);
  await operation.phase("starting-agent");
  say({ phase: "starting-agent", message: "Starting the agent" });
  const { cause } = await context.wakeHistory({ actor: lease.actor, sandboxId, sidecar, signal });
  await waitForAgent(context, sidecar, signal);
  return { sidecar, configHash: hash, stateCause: cause };
}

/** Ends what runs and writes down why; a lease that was lost meanwhile leaves that to its new holder. */
async function settle(
  context: LifecycleContext,
  { lease, operation, cause, signal }: { lease: Lease; operation: Operation; cause: string; signal: AbortSignal },
): Promise<void> {
  const { backend, leases, logger, deadlines } = context;
  try {
    if (!(await leases.renew(lease))) return;
    const patience = AbortSignal.any([signal, AbortSignal.timeout(deadlines.terminateMilliseconds)]);
    await backend.terminate(lease.sandboxId, null, patience);
    await leases.update(lease, { observedState: "failed", stateCause: cause });
    await operation.fail(cause);
  } catch (error) {
    logger.error({ err: error, sandboxId: lease.sandboxId }, "A failed wake could not be cleaned up");
  }
}
