import type { SandboxState } from "./sandbox.ts";

/**
 * Everything that can be done to a sandbox as a whole. Each attempt is one operation: it goes through the verb's
 * phases in this order, the last of which is also that of its success, and leaves the sandbox in the state `to`.
 * The database refuses any other pair of verb and phase.
 */
export const lifecycleVerbs = {
  wake: { phases: ["starting-sandbox", "restoring", "starting-agent", "running"], to: "running" },
  sleep: { phases: ["quiescing", "archiving", "terminating", "sleeping"], to: "sleeping" },
  recover: {
    phases: ["archiving", "terminating", "starting-sandbox", "restoring", "starting-agent", "running"],
    to: "running",
  },
  reset: { phases: ["forgetting", "archiving", "deleting", "terminating", "terminated"], to: "terminated" },
  "restart-agent": { phases: ["restarting-agent", "running"], to: "running" },
} as const satisfies Record<string, { phases: readonly string[]; to: SandboxState }>;

export type LifecycleVerb = keyof typeof lifecycleVerbs;
export type OperationPhase<Verb extends LifecycleVerb = LifecycleVerb> =
  (typeof lifecycleVerbs)[Verb]["phases"][number];

/** Asked for until the holder of the sandbox's lease takes it up, then running until it ends in one of three ways. */
export const operationStates = ["requested", "running", "succeeded", "failed", "cancelled"] as const;
export type OperationState = (typeof operationStates)[number];

/** Why an operation was begun. `needed`: a turn or a file wants the sandbox; `failed`: its last life ended badly. */
export const operationReasons = [
  "asked",
  "needed",
  "idle",
  "server-stopped",
  "failed",
  "unreachable",
  "other-version",
  "damaged",
] as const;
export type OperationReason = (typeof operationReasons)[number];

/** What a person who asks for it may choose. */
export interface OperationOptions {
  /** Of a reset: the files of all sessions go too, with their snapshots. */
  files?: boolean;
}

/** When it entered which phase. */
export interface PhaseTime {
  phase: OperationPhase;
  at: string;
}

/** From this phase on a sleep is decided: nobody can call it off any more. */
export const decidedPhase: OperationPhase<"sleep"> = "terminating";

/** What somebody who waits for a running sandbox is told, and finds in the session log. */
export type WakePhaseName = OperationPhase<"wake" | "restart-agent"> | "failed";
export const wakePhaseNames: readonly WakePhaseName[] = [
  ...new Set([...lifecycleVerbs.wake.phases, ...lifecycleVerbs["restart-agent"].phases, "failed" as const]),
];
