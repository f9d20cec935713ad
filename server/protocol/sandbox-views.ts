import type { LifecycleVerb, OperationOptions, OperationReason, OperationState, PhaseTime } from "./lifecycle-verbs.ts";
import type { SandboxState } from "./sandbox.ts";

/** One attempt at a lifecycle verb, as people and programs see it. */
export interface OperationView {
  id: string;
  verb: LifecycleVerb;
  state: OperationState;
  phase: string;
  cause: string | null;
  reason: OperationReason;
  /** The name of whoever asked for it; null: the server itself. */
  requestedBy: string | null;
  options: OperationOptions;
  phases: PhaseTime[];
  requestedAt: Date;
  startedAt: Date | null;
  deadlineAt: Date;
  endedAt: Date | null;
}

/** A sandbox without anything that was said in it. */
export interface SandboxView {
  id: string;
  personName: string;
  personEmail: string;
  backend: string;
  isolation: string;
  state: SandboxState;
  wantedState: SandboxState;
  cause: string | null;
  /** The machine that alone can run it; null where any server can. */
  home: { machine: string | null; seenAt: Date | null; isAway: boolean } | null;
  sessionCount: number;
  lastActiveAt: Date | null;
  createdAt: Date;
  /** The newest archive of the agent's memory. */
  savedAt: Date | null;
  /** Since when what was done is on its disk only; null where all of it is archived. */
  unsavedSince: Date | null;
  /** After how many minutes it sleeps; 0: never. `own`: as its person chose, not its tenant. */
  idle: { minutes: number; own: boolean };
  keepAwakeUntil: Date | null;
  noSleepBefore: Date | null;
  /** What is open, else the last one. */
  operation: OperationView | null;
}
