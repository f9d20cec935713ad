import type { SandboxState } from "./sandbox.ts";

/**
 * Everything that can be done to a sandbox as a whole. Each attempt is one operation: it goes through the verb's
 * phases in this order, the last of which is also that of its success, and leaves the sandbox in the state `to`.
 * The database refuses any other pair of verb and phase.
 */
export const lifecycleVerbs = {
  wake: { phases: ["starting-sandbox", "starting-agent", "running"], to: "running" },
  sleep: { phases: ["quiescing", "archiving", "terminating", "sleeping"], to: "sleeping" },
  recover: {
    phases: ["archiving", "terminating", "starting-sandbox", "starting-agent", "running"],
    to: "running",
  },
  reset: { phases: ["forgetting", "archiving", "deleting", "terminating", "terminated"], to: "terminated" },
  "restart-agent": { phases: ["restarting-agent", "running"], to: "running" },
} as const satisfies Record<string, { phases: readonly string[]; to: SandboxState }>;

export type LifecycleVerb = keyof typeof lifecycleVerbs;
export type OperationPhase<Verb extends LifecycleVerb = LifecycleVerb> =
  (typeof lifecycleVerbs)[Verb]["phases"][number];

export const operationStates = ["running", "succeeded", "failed"] as const;

/** What somebody who waits for a running sandbox is told, and finds in the session log. */
export type WakePhaseName = OperationPhase<"wake" | "restart-agent"> | "failed";
export const wakePhaseNames: readonly WakePhaseName[] = [
  ...new Set([...lifecycleVerbs.wake.phases, ...lifecycleVerbs["restart-agent"].phases, "failed" as const]),
];
