import type { Actor } from "../auth/index.ts";
import type { WakePhaseName } from "../protocol/lifecycle-verbs.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import type { OperationRow } from "./operation.ts";
import type { OperationRequest } from "./request-operation.ts";

export { listHomes } from "./homes.ts";
export type { ArchiveRound, OwnedSandbox, SandboxArchives } from "./lifecycle-context.ts";
export { type Fence, writeUnderLease } from "./write-under-lease.ts";

export interface WakePhase {
  phase: WakePhaseName;
  message: string;
}

/** A sandbox that runs and whose lease this process holds. */
export interface RunningSandbox {
  sandboxId: string;
  leaseEpoch: number;
  sidecar: SidecarClient;
  /** What the agent runs with: models and policy are the same while this is. */
  configHash: string | null;
  /** Aborted when the sandbox is lost, put to sleep, or the lease is superseded. */
  signal: AbortSignal;
}

/** A look at a sandbox that is on its way: health, models and lease. It belongs to one turn. */
export interface Look {
  readonly sandbox: RunningSandbox;
}

/** One whose home is away. */
export interface AwaySandbox {
  sandboxId: string;
  /** Good until its home takes it again. */
  leaseEpoch: number;
  bootId: string | null;
  /** Where it is, for people. */
  machine: string | null;
}

export interface Lifecycle {
  /**
   * The sandbox of this session's person, running: adopted, or woken. Concurrent calls share one wake.
   * `onPhase` hears phases only when there is something to wait for. Assigns the sandbox to the
   * session when it has none; its isolation never changes afterwards (ARCHITECTURE.md, invariant 16). Throws `unavailable`
   * with the refusal `lease-elsewhere` when another server runs it.
   */
  ensureRunning(input: {
    actor: Actor;
    sessionId: string;
    /** Where it was begun already; another one is made in its place when it is too old. */
    look?: Look | null;
    onPhase: (phase: WakePhase) => Promise<void>;
    signal: AbortSignal;
  }): Promise<RunningSandbox>;
  /**
   * Begins the look at the sandbox that every turn begins with, for the `ensureRunning` that is about to follow:
   * where this process runs it and that session was in it before. Else null, and nothing is begun.
   */
  lookAhead(input: { actor: Actor; sessionId: string }): Look | null;
  /** Whether a lease of that owner keeps nobody here from running the sandbox: our own, or a gone predecessor's. */
  isOwnLease(leaseOwner: string): boolean;
  /** Whether the sandboxes of that home can be run from here; null: those of no home in particular. */
  isReachable(homeId: string | null): boolean;
  /**
   * A person's choice, while the machine of the session's sandbox is away: it goes on here, with all its sessions,
   * from its archives. False, and nothing changed, where it is here already. Throws `conflict` while that machine is
   * there, `not-found` for an unknown or another person's session.
   */
  continueHere(input: { actor: Actor; sessionId: string }): Promise<boolean>;
  /**
   * While the sandbox's home is away: whoever ran it there writes nothing any more, until that home takes it again.
   * Null, and nothing changed, where that home is there, or is this one.
   */
  supersedeAway(input: { actor: Actor; sandboxId: string }): Promise<AwaySandbox | null>;
  /**
   * The sandbox if this process runs it, or takes it over now from a server that is gone; null when nothing of it
   * runs. Never wakes. Throws `unavailable` when it runs and cannot be reached, with the refusal `lease-elsewhere`
   * when another server runs it.
   */
  findOrTakeOver(input: { actor: Actor; sandboxId: string; signal: AbortSignal }): Promise<RunningSandbox | null>;
  /** The sandbox if this process already runs it; never wakes. */
  findRunning(sandboxId: string): RunningSandbox | null;
  /** All that this process runs at the moment, and whose they are. */
  listRunning(): (RunningSandbox & { actor: Actor })[];
  /**
   * Called with the models or keys of a tenant changed: agents restart with the new file once none
   * of the sandbox's sessions has a running turn: now, at `turnEnded`, or before the next turn.
   */
  applyModels(tenantId: string): void;
  /**
   * Asks for something to be done to a sandbox as a whole, by whoever holds its lease. The same verb joins what is
   * open. `conflict` says what is in the way; `not-found` for what is unknown or out of the viewer's reach.
   */
  request(viewer: Actor, request: OperationRequest): Promise<OperationRow>;
  /** Something was left to be done in a sandbox: whoever holds it hears of it; nobody wakes it for that. */
  tellHolder(sandbox: { sandboxId: string; actor: Actor }): Promise<void>;
  /** A turn of this sandbox is over: what waited for the agent to be idle is done now. */
  turnEnded(sandboxId: string): void;
  /** Boot: re-adopts what is healthy; resolves with the sandboxes that this process now holds. */
  adopt(signal: AbortSignal): Promise<{ sandboxId: string; actor: Actor }[]>;
  /**
   * Server's end: gives up wakes and lets go of leases. With `terminate`, sandboxes are ended within 8 s and
   * sleep, their files kept; otherwise they run on for the next process. Idempotent.
   */
  close(options: { terminate: boolean }): Promise<void>;
}
