import { setTimeout as sleep } from "node:timers/promises";
import { faultError, isAppError } from "../errors.ts";
import { bounded } from "../lib/bounded.ts";
import type { SandboxAddress } from "../protocol/sandbox.ts";
import { oldestSidecarProtocol, type SidecarHealth, sidecarProtocol } from "../protocol/sidecar.ts";
import type { SandboxBackend } from "../sandboxes/sandbox-backend.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import type { Lease } from "./lease.ts";
import type { LifecycleContext } from "./lifecycle-context.ts";

export async function waitForAgent(
  { deadlines }: LifecycleContext,
  sidecar: SidecarClient,
  signal: AbortSignal,
): Promise<void> {
  const milliseconds = deadlines.agentStartMilliseconds;
  const late = () => faultError("agent-start-late");
  await bounded((limited) => sidecar.waitForAgent(limited), { signal, milliseconds, late });
}

export async function openSidecar(
  context: LifecycleContext,
  boot: { lease: Lease; bootId: string; bootSecret: Uint8Array; backend: SandboxBackend; address: SandboxAddress },
): Promise<SidecarClient> {
  const { createSidecarClient, signingKey } = context;
  const { lease, bootId, bootSecret, backend, address } = boot;
  const { sandboxId, epoch: leaseEpoch } = lease;
  const door = await backend.connect(sandboxId, address);
  return createSidecarClient({ sandboxId, bootId, bootSecret, privateKey: signingKey.privateKey, door, leaseEpoch });
}

/** The sidecar of this very boot, speaking our protocol. Its answer is proved with the boot's secret. */
export async function requireHealth(context: LifecycleContext, sidecar: SidecarClient, signal: AbortSignal) {
  const milliseconds = context.deadlines.healthMilliseconds;
  const late = () => faultError("sandbox-late");
  const health = await bounded((limited) => sidecar.health(limited), { signal, milliseconds, late });
  if (health.bootId !== sidecar.bootId || health.sandboxId !== sidecar.sandboxId) {
    throw faultError("sandbox-answer", { cause: new Error("Another sandbox answered") });
  }
  if (health.protocol > sidecarProtocol || health.protocol < oldestSidecarProtocol) {
    throw faultError("sandbox-version");
  }
  return health;
}

// A machine under load may let one look fail: better to wait a moment than to end what works, or to have it sent again.
const goneMilliseconds = 20_000;

/** A sandbox that is just ending answers no more and is still there for a moment: null once it is gone. */
export async function healthOrGone(
  context: LifecycleContext,
  sandbox: {
    backend: SandboxBackend;
    address: SandboxAddress;
    sidecar: SidecarClient;
    lost?: AbortSignal;
    signal: AbortSignal;
  },
): Promise<SidecarHealth | null> {
  const { backend, address, sidecar, lost, signal } = sandbox;
  const deadline = Date.now() + goneMilliseconds;
  for (;;) {
    try {
      return await requireHealth(context, sidecar, signal);
    } catch (error) {
      signal.throwIfAborted();
      const report = await backend.report(sidecar.sandboxId, address, signal);
      if (report === "gone" || lost?.aborted) return null;
      if (isAnswer(error) || Date.now() >= deadline) throw error;
      await sleep(100, undefined, { signal });
    }
  }
}

/** Not silence: asked again, it would say the same. */
function isAnswer(error: unknown): boolean {
  return isAppError(error) && error.kind !== "timeout" && error.kind !== "unavailable";
}

export function sealBootSecret({ secretBox }: LifecycleContext, sandboxId: string, secret: Uint8Array): string {
  return secretBox.seal(Buffer.from(secret).toString("base64"), `sandbox-boot-secret:${sandboxId}`);
}

export function openBootSecret({ secretBox }: LifecycleContext, sandboxId: string, sealed: string): Uint8Array {
  return Buffer.from(secretBox.open(sealed, `sandbox-boot-secret:${sandboxId}`), "base64");
}
