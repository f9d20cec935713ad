import { decidedPhase, type LifecycleVerb } from "./lifecycle-verbs.ts";
import type { SandboxState } from "./sandbox.ts";

/** From which states it can be asked for. */
const begunFrom: Record<LifecycleVerb, readonly SandboxState[]> = {
  wake: ["sleeping", "failed", "terminated", "running"],
  sleep: ["running"],
  recover: ["running", "failed", "provisioning"],
  reset: ["running", "sleeping", "failed", "terminated", "provisioning"],
  "restart-agent": ["running"],
};

/** These are more pressing than a sleep that is not decided yet. */
const callsOffSleep: readonly LifecycleVerb[] = ["wake", "recover", "reset"];

/** Whatever hangs, these may be asked for. */
const outOfTrouble: readonly LifecycleVerb[] = ["recover", "reset"];

interface OpenOperation {
  verb: LifecycleVerb;
  phase: string;
  deadlineAt: Date;
}

const shownStates: Record<Exclude<SandboxState, "provisioning">, string> = {
  running: "awake",
  sleeping: "asleep",
  failed: "broken",
  terminated: "not started",
};

const doing: Record<LifecycleVerb, string> = {
  wake: "waking up",
  sleep: "going to sleep",
  recover: "being recovered",
  reset: "being reset",
  "restart-agent": "restarting its agent",
};

/** What a verb reads like after "it cannot". */
export const spokenVerbs: Record<LifecycleVerb, string> = {
  wake: "wake up",
  sleep: "go to sleep",
  recover: "recover",
  reset: "be reset",
  "restart-agent": "restart its agent",
};

/** Why a verb cannot be asked for now, for people; null when it can. Pages ask it ahead, the server decides by it. */
export function lifecycleRefusal(
  { state, open, now }: { state: SandboxState; open: OpenOperation | null; now: Date },
  verb: LifecycleVerb,
): string | null {
  if (open && !mayCallOff(open, verb, now)) return `This sandbox is ${doing[open.verb]}. Try again when that is done.`;
  if (begunFrom[verb].includes(state)) return null;
  const is = state === "provisioning" ? "is just starting" : `is ${shownStates[state]}`;
  return `This sandbox ${is}, so it cannot ${spokenVerbs[verb]} now.`;
}

/** Why nothing can be done with a sandbox of a machine that is away. */
export function awayRefusal(machine: string): string {
  return `${machine} is away, and nobody else can reach this sandbox.`;
}

function mayCallOff(open: OpenOperation, verb: LifecycleVerb, now: Date): boolean {
  // It should have been over long ago: nothing it may still do is worth waiting for.
  if (open.deadlineAt < now && outOfTrouble.includes(verb)) return true;
  return open.verb === "sleep" && open.phase !== decidedPhase && callsOffSleep.includes(verb);
}
