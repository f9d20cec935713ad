import type { Database } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Serial } from "../lib/serial.ts";
import type { SandboxAddress } from "../protocol/sandbox.ts";
import type { SandboxBackend, SandboxDoor } from "../sandboxes/sandbox-backend.ts";
import type { SandboxBackends } from "../sandboxes/sandbox-backends.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import type { Lease, Leases } from "./lease.ts";
import type { SigningKey } from "./signing-key.ts";

export interface LifecycleOptions {
  database: Database;
  backends: SandboxBackends;
  secretBox: SecretBox;
  signingKey: SigningKey;
  createSidecarClient(input: {
    sandboxId: string;
    bootId: string;
    bootSecret: Uint8Array;
    privateKey: SigningKey["privateKey"];
    door: SandboxDoor;
    leaseEpoch: number;
  }): SidecarClient;
  /** The gateway's: the opencode.json of a tenant. */
  agentConfig(caller: { tenantId: string; userId: string }): Promise<Record<string, unknown>>;
  /**
   * The gate closed: brings the agent's memory back where the disk has none, then opens the gate. The cause of a
   * memory that is lost all the same stands on the row, where admins see it.
   */
  wakeHistory(input: {
    actor: Actor;
    sandboxId: string;
    leaseEpoch: number;
    sidecar: SidecarClient;
    signal: AbortSignal;
  }): Promise<{ cause: string | null }>;
  /** Names the home whose lock this process holds: leases of its predecessors are taken over at once. Null: all must lapse. */
  homeId: string | null;
  /** Where this server's sandboxes are, and how people know it. */
  home: { id: string; machine: string };
  /** Another home went away or came back: what sessions say of it is another now. */
  onHomesChanged?(): void;
  logger: Pick<Logger, "info" | "warn" | "error">;
  deadlines?: Partial<Deadlines>;
}

export interface Deadlines {
  wakeMilliseconds: number;
  agentStartMilliseconds: number;
  healthMilliseconds: number;
  renewEveryMilliseconds: number;
  /** How often this process looks for sandboxes whose server is gone. */
  takeOverEveryMilliseconds: number;
  /** How often this server says that it is there, and looks for others. */
  homesEveryMilliseconds: number;
  /** How often the backend is asked whether the sandbox is still there. */
  reportEveryMilliseconds: number;
  /** How often the sidecar has to prove itself. */
  healthEveryMilliseconds: number;
  /** How long a sandbox that is there may answer nothing. */
  quarantineMilliseconds: number;
  terminateMilliseconds: number;
}

export const defaultDeadlines: Deadlines = {
  wakeMilliseconds: 120_000,
  agentStartMilliseconds: 30_000,
  healthMilliseconds: 5_000,
  renewEveryMilliseconds: 5_000,
  takeOverEveryMilliseconds: 5_000,
  homesEveryMilliseconds: 5_000,
  reportEveryMilliseconds: 2_000,
  healthEveryMilliseconds: 10_000,
  quarantineMilliseconds: 600_000,
  terminateMilliseconds: 8_000,
};

export interface LifecycleContext extends Omit<LifecycleOptions, "deadlines"> {
  deadlines: Deadlines;
  leases: Leases;
}

/** A sandbox that runs under a lease of this process. */
export interface HeldSandbox {
  readonly lease: Lease;
  /** Who runs it, and what that needs to find it. */
  readonly backend: SandboxBackend;
  readonly address: SandboxAddress;
  readonly sidecar: SidecarClient;
  /** Aborted once it is lost, ended or superseded; the reason is what viewers are told. */
  readonly lost: AbortController;
  /** Restarts of the agent and the check before a turn exclude each other. */
  readonly serial: Serial;
  configHash: string | null;
  /** The agent has to restart with another configuration as soon as it is idle. */
  configIsStale: boolean;
}
