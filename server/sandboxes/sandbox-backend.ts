import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
import type { SidecarLaunch } from "../protocol/sidecar.ts";

export type SandboxIsolation = "sandboxed" | "host";

/** What a backend needs to find a sandbox again; kept as JSON on the sandbox row. */
export type SandboxAddress = { backend: "local" } & Record<string, unknown>;

export interface SandboxSpec {
  sandboxId: string;
  tenantId: string;
  isolation: SandboxIsolation;
  /** Everything of the sidecar's launch that does not depend on where it runs. */
  launch: Pick<SidecarLaunch, "sandboxId" | "bootId" | "publicKey" | "bootSecret" | "sandboxToken" | "agentConfig">;
  /** The address of this sandbox's earlier life, where there was one. */
  previous: SandboxAddress | null;
}

/**
 * How a sandbox is run. It only provisions, terminates, reports and lists; all else goes through the
 * sidecar. Errors are AppErrors: `unavailable` when the isolation asked for cannot be given
 * (invariant 16: nothing falls back), `timeout` when it did not come up in time.
 */
export interface SandboxBackend {
  readonly kind: "local" | "docker" | "kubernetes";
  /**
   * Ends whatever still lives of an earlier life, then starts the sidecar with its gate closed.
   * Resolves once the door accepts connections. Not idempotent: each call is a new boot.
   */
  provision(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxAddress>;
  /** Idempotent; resolves once nothing of it runs any more. Files stay. */
  terminate(sandboxId: string, address: SandboxAddress | null, signal: AbortSignal): Promise<void>;
  /** `unknown` when the backend cannot tell: unreachable is not dead. */
  report(sandboxId: string, address: SandboxAddress, signal: AbortSignal): Promise<"present" | "gone" | "unknown">;
  /** All sandboxes this backend still runs or holds files of, for orphans. */
  list(signal: AbortSignal): Promise<{ sandboxId: string; running: boolean }[]>;
  /**
   * Called at boot and after provision: makes the server reachable for the sandbox again (its
   * socket), and returns how to reach the door. Idempotent.
   */
  connect(sandboxId: string, address: SandboxAddress): Promise<SandboxDoor>;
  /** Releases sockets of this process; sandboxes live on. */
  close(): Promise<void>;
}

export interface SandboxDoor {
  /** HTTP to the sidecar: requests go to `origin`. Closed by the backend. */
  dispatcher: Dispatcher;
  origin: string;
  /** A connection of its own to the same door, for requests that undici cannot send. Closed by whoever asked for it. */
  connect(): Promise<Duplex>;
}
