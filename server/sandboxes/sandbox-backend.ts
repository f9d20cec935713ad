import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
import type { SandboxAddress } from "../protocol/sandbox.ts";
import type { SidecarLaunch } from "../protocol/sidecar.ts";

/**
 * One way in which a backend keeps an agent apart from everything else. The name is the backend's own, and stands
 * on sessions and sandboxes. What is not `confined` reaches whatever the machine does: somebody has to agree first.
 */
export type Isolation = { name: string; confined: boolean } & (
  | { available: true; detail: string }
  /** What is missing, and what to do about it. */
  | { available: false; reason: string }
);

export interface SandboxSpec {
  sandboxId: string;
  tenantId: string;
  /** One of the backend's own names. */
  isolation: string;
  /** Everything of the sidecar's launch that does not depend on where it runs. */
  launch: Pick<SidecarLaunch, "sandboxId" | "bootId" | "publicKey" | "bootSecret" | "sandboxToken" | "agentConfig">;
  /** The address of this sandbox's earlier life, where there was one. */
  previous: SandboxAddress | null;
}

/**
 * How a sandbox is run. It only provisions, terminates, reports and lists, and says which isolations it can give; all
 * else goes through the sidecar. Errors are AppErrors: `unavailable` when the isolation asked for cannot be given
 * (ARCHITECTURE.md, invariant 16: nothing falls back), `timeout` when it did not come up in time.
 *
 * A backend needs nothing but its folder and a line in wire-backends.ts. Its addresses are its own: it gets back
 * what it gave, also from an earlier version of itself.
 */
export interface SandboxBackend {
  /** Stands on the row of every sandbox it runs; never changes. */
  readonly kind: string;
  /**
   * Where its sandboxes' files stand in the home of this server, so that no other can reach them; null where any
   * server can, by their address.
   */
  readonly inHome: SandboxesInHome | null;
  /** Strongest first. Cheap after the first call; proves by trying, and throws only when `signal` says so. */
  isolations(signal: AbortSignal): Promise<readonly Isolation[]>;
  /**
   * Ends whatever still lives of an earlier life, then starts the sidecar with its gate closed.
   * Resolves once the door accepts connections. Not idempotent: each call is a new boot.
   */
  provision(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxAddress>;
  /** Idempotent; resolves once nothing of it runs any more. Files stay. Null: its only life never got as far as an address. */
  terminate(sandboxId: string, address: SandboxAddress | null, signal: AbortSignal): Promise<void>;
  /** `unknown` when the backend cannot tell: unreachable is not dead. Null as above. */
  report(
    sandboxId: string,
    address: SandboxAddress | null,
    signal: AbortSignal,
  ): Promise<"present" | "gone" | "unknown">;
  /** All sandboxes this backend still runs or holds files of, for orphans. */
  list(signal: AbortSignal): Promise<ListedSandbox[]>;
  /**
   * Called at boot and after provision: makes the server reachable for the sandbox again where that is
   * needed, and returns how to reach the door. Idempotent.
   */
  connect(sandboxId: string, address: SandboxAddress): Promise<SandboxDoor>;
  /** Releases sockets of this process; sandboxes live on. */
  close(): Promise<void>;
}

export interface SandboxesInHome {
  /**
   * For a sandbox that goes on in another home: ends what runs of it and moves its files out of the way, for people to
   * look into. Nothing is deleted. Returns where they are now; null when there were none.
   */
  setAside(sandboxId: string, signal: AbortSignal): Promise<string | null>;
}

export interface ListedSandbox {
  sandboxId: string;
  running: boolean;
  address: SandboxAddress;
}

export interface SandboxDoor {
  /** HTTP to the sidecar: requests go to `origin`. Closed by the backend. */
  dispatcher: Dispatcher;
  origin: string;
  /** A connection of its own to the same door, for requests that undici cannot send. Closed by whoever asked for it. */
  connect(): Promise<Duplex>;
}

/** For backends alone: what only they can read again. */
export function toAddress(content: Record<string, unknown>): SandboxAddress {
  return content as unknown as SandboxAddress;
}
