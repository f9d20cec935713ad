import { randomBytes, randomUUID } from "node:crypto";
import { faultError, isAppError, isRefused } from "../errors.ts";
import { lifecycleVerbs, type OperationReason } from "../protocol/lifecycle-verbs.ts";
import type { SandboxAddress } from "../protocol/sandbox.ts";
import type { SandboxBackend } from "../sandboxes/sandbox-backend.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { endSandbox } from "./end-sandbox.ts";
import { type Lease, type SandboxRecord, superseded } from "./lease.ts";
import { type HeldSandbox, type LifecycleContext, toHeld } from "./lifecycle-context.ts";
import { openSidecar, requireHealth, sealBootSecret, waitForAgent } from "./open-sidecar.ts";
import { beginOperation, type Operation } from "./operation.ts";
import type { ReportPhase } from "./phase-reporter.ts";
import { loadConfig } from "./refresh-agent-config.ts";
import { requireSandboxToken } from "./sandbox-token.ts";

interface Wake {
  lease: Lease;
  row: SandboxRecord;
  reportPhase: ReportPhase;
  /** Of which this is the last part; a wake of its own when there is none. */
  operation?: WakeOperation;
  reason?: OperationReason;
  signal: AbortSignal;
}

type WakeOperation = Pick<Operation<"wake">, "phase" | "succeed" | "fail">;

/** Where the sandbox of this wake is: that of its last life until there is a new one. */
interface Whereabouts {
  readonly backend: SandboxBackend;
  address: SandboxAddress | null;
}

/**
 * From whatever a sandbox was to `running`, as one operation. When it fails, nothing of it is left running,
 * the row says why, and the next attempt starts anew.
 */
export async function wakeSandbox(context: LifecycleContext, wake: Wake): Promise<HeldSandbox> {
  const { leases, deadlines } = context;
  const { lease, row, reportPhase, reason = "needed", signal } = wake;
  const where: Whereabouts = { backend: context.backends.require(row.backend), address: row.address };
  const deadline = AbortSignal.timeout(deadlines.wakeMilliseconds);
  const bounded = AbortSignal.any([signal, deadline]);
  const begin = { verb: "wake", reason, deadlineMilliseconds: deadlines.wakeMilliseconds } as const;
  const operation: WakeOperation = wake.operation ?? (await beginOperation(leases, lease, begin));
  try {
    if (wake.operation) await operation.phase("starting-sandbox");
    await leases.update(lease, {
      wantedState: lifecycleVerbs.wake.to,
      observedState: "provisioning",
      stateCause: null,
    });
    reportPhase({ phase: "starting-sandbox", message: "Starting the sandbox" });
    const { address, sidecar, configHash, stateCause } = await boot(context, {
      ...wake,
      where,
      operation,
      signal: bounded,
    });
    const lastActiveAt = new Date();
    await leases.update(lease, { observedState: "running", stateCause, agentConfigHash: configHash, lastActiveAt });
    await operation.succeed();
    reportPhase({ phase: "running", message: "The sandbox is running" });
    return toHeld({ lease, backend: where.backend, address, sidecar, configHash });
  } catch (error) {
    const known = isAppError(error) ? error : faultError("sandbox-start", { cause: error });
    const failure = deadline.aborted ? faultError("sandbox-start-late", { cause: error }) : known;
    const cause = failure.message;
    if (failure.cause) context.logger.warn({ err: failure, sandboxId: lease.sandboxId }, "A sandbox did not wake");
    if (!(await endFailed(context, { lease, where, operation, cause, signal }))) throw superseded();
    reportPhase({ phase: "failed", message: cause });
    throw failure;
  }
}

async function boot(
  context: LifecycleContext,
  wake: Wake & { where: Whereabouts; operation: WakeOperation },
): Promise<{ address: SandboxAddress; sidecar: SidecarClient; configHash: string; stateCause: string | null }> {
  const { leases, secretBox, signingKey } = context;
  const { lease, row, where, reportPhase, operation, signal } = wake;
  const { sandboxId } = lease;
  const { backend } = where;
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
      isolation: row.isolation,
      launch: {
        sandboxId,
        bootId,
        publicKey: signingKey.publicKey,
        bootSecret: bootSecret.toString("base64"),
        sandboxToken,
        agentConfig: config,
      },
      previous: row.address,
    },
    signal,
  );
  where.address = address;
  await leases.update(lease, { address });
  const sidecar = await openSidecar(context, { lease, bootId, bootSecret, backend, address });
  await requireHealth(context, sidecar, signal);
  await operation.phase("restoring");
  reportPhase({ phase: "restoring", message: "Restoring the agent's memory" });
  const { cause } = await context.archives.wakeHistory({
    actor: lease.actor,
    sandboxId,
    leaseEpoch: lease.epoch,
    historyEpoch: row.historyEpoch,
    filesEpoch: row.filesEpoch,
    check: wake.operation !== undefined || row.observedState === "failed",
    sidecar,
    signal,
  });
  await operation.phase("starting-agent");
  reportPhase({ phase: "starting-agent", message: "Starting the agent" });
  await waitForAgent(context, sidecar, signal);
  return { address, sidecar, configHash: hash, stateCause: cause };
}

/**
 * What is left of a wake that failed is ended. Where that fails too, the wake's own failure is the one to hear of.
 * False where another server has it by now.
 */
async function endFailed(
  context: LifecycleContext,
  failed: { lease: Lease; where: Whereabouts; operation: WakeOperation; cause: string; signal: AbortSignal },
): Promise<boolean> {
  const { lease, where, operation, cause, signal } = failed;
  try {
    return await endSandbox(context, {
      lease,
      ...where,
      changes: { observedState: "failed", stateCause: cause },
      andWrite: () => operation.fail(cause),
      signal,
    });
  } catch (error) {
    if (isRefused(error, "lease-superseded")) return false;
    context.logger.error({ err: error, sandboxId: lease.sandboxId }, "A failed wake could not be cleaned up");
    return true;
  }
}
