import type { Database } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { createSerial, type Serial } from "../lib/serial.ts";
import type { SandboxAddress } from "../protocol/sandbox.ts";
import type { SandboxBackend, SandboxDoor } from "../sandboxes/sandbox-backend.ts";
import type { SandboxBackends } from "../sandboxes/sandbox-backends.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import type { RunningSandbox } from "./index.ts";
import type { Lease, Leases } from "./lease.ts";
import type { SigningKey } from "./signing-key.ts";
import type { FallingAsleep } from "./sleep-sandbox.ts";

/** A sandbox that runs under our lease, and whose it is. */
export interface OwnedSandbox extends RunningSandbox {
  actor: Actor;
}

/** What was not archived of all that a sandbox holds: until when it is, at least, and why no further. */
export interface ArchiveRound {
  failures: { savedAt: Date; cause: string }[];
}

/** The durable copies of what a sandbox holds. */
export interface SandboxArchives {
  /**
   * The gate closed: brings the agent's memory back where the disk has none, then opens the gate. The cause of a
   * memory that is lost all the same stands on the row, where admins see it.
   */
  wakeHistory(input: {
    actor: Actor;
    sandboxId: string;
    leaseEpoch: number;
    /** What a disk of an older one has is to be forgotten. */
    historyEpoch: number;
    filesEpoch: number;
    /** Whether what the disk has may be damaged. */
    check: boolean;
    sidecar: SidecarClient;
    signal: AbortSignal;
  }): Promise<{ cause: string | null }>;
  /** Whatever changed since its newest archive. Throws only when `signal` or the sandbox's own ends it. */
  archiveSandbox(
    sandbox: OwnedSandbox,
    options: { gently?: boolean; only?: "workspace"; signal: AbortSignal },
  ): Promise<ArchiveRound>;
  /** Until when all of it is archived. */
  savedUntil(sandbox: Pick<OwnedSandbox, "actor" | "sandboxId">): Promise<Date>;
  /** Removes what is left in it of sessions that were removed while nobody could. */
  clearRemoved(sandbox: OwnedSandbox, signal: AbortSignal): Promise<void>;
  /** Removes all archives of the agent's memory and HOME, with `files` those of the workspaces too. */
  forget(input: {
    actor: Actor;
    sandboxId: string;
    leaseEpoch: number;
    files: boolean;
    signal: AbortSignal;
  }): Promise<void>;
}

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
  archives: SandboxArchives;
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
  /** Of a sleep, as far as its decision. */
  sleepMilliseconds: number;
  /** For the archives of a sandbox that may be half dead, and of one whose server has to stop. */
  recoveryArchiveMilliseconds: number;
  stopArchiveMilliseconds: number;
  /** For removing what a reset removes. */
  resetMilliseconds: number;
  /** For somebody to take up what was asked for. */
  requestMilliseconds: number;
  /** How often this process looks for what was asked for without hearing of it. */
  requestsEveryMilliseconds: number;
  /** How often this process looks for sandboxes that nobody uses. */
  idleEveryMilliseconds: number;
  /** How often it looks what the programs in its sandboxes do. */
  activityEveryMilliseconds: number;
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
  sleepMilliseconds: 300_000,
  recoveryArchiveMilliseconds: 30_000,
  stopArchiveMilliseconds: 6_000,
  resetMilliseconds: 60_000,
  requestMilliseconds: 60_000,
  requestsEveryMilliseconds: 5_000,
  idleEveryMilliseconds: 30_000,
  activityEveryMilliseconds: 300_000,
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
  /** Its sidecar is of an earlier version: it is made anew as soon as nothing runs in it. */
  readonly isOutdated: boolean;
  /** While it is being put to sleep and that is not over. */
  sleep: FallingAsleep | null;
  /** How often in a row it could not be put to sleep. */
  failedSleeps: number;
}

/** Of one that was just started or adopted. */
export function toHeld(
  proved: Pick<HeldSandbox, "lease" | "backend" | "address" | "sidecar" | "configHash"> &
    Partial<Pick<HeldSandbox, "isOutdated">>,
): HeldSandbox {
  const lost = new AbortController();
  return {
    isOutdated: false,
    ...proved,
    lost,
    serial: createSerial(),
    configIsStale: false,
    sleep: null,
    failedSleeps: 0,
  };
}

/** `signal`: for a sandbox that nobody may use any more but us. */
export function toOwned(
  {
    lease,
    sidecar,
    configHash,
    ...held
  }: Pick<HeldSandbox, "lease" | "sidecar" | "configHash"> & Partial<Pick<HeldSandbox, "lost">>,
  signal?: AbortSignal,
): OwnedSandbox {
  const { sandboxId, epoch: leaseEpoch, actor } = lease;
  const ended = signal ?? held.lost?.signal ?? AbortSignal.abort();
  return { sandboxId, leaseEpoch, sidecar, configHash, signal: ended, actor };
}
