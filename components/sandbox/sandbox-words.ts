import { awayRefusal, lifecycleRefusal } from "@/server/protocol/lifecycle-refusal.ts";
import { type LifecycleVerb, lifecycleVerbs, type OperationPhase } from "@/server/protocol/lifecycle-verbs.ts";
import type { SandboxState } from "@/server/protocol/sandbox.ts";
import type { OperationView, SandboxView } from "@/server/protocol/sandbox-views.ts";
import type { DotTone } from "../ui/badge.tsx";

const states: Record<SandboxState, { tone: DotTone; word: string }> = {
  running: { tone: "awake", word: "Awake" },
  sleeping: { tone: "asleep", word: "Asleep" },
  provisioning: { tone: "working", word: "Starting" },
  failed: { tone: "danger", word: "Needs attention" },
  terminated: { tone: "still", word: "Not started" },
};

const doing: Record<LifecycleVerb, string> = {
  wake: "Waking up",
  sleep: "Going to sleep",
  recover: "Recovering",
  reset: "Resetting",
  "restart-agent": "Restarting the agent",
};

export const verbLabels: Record<LifecycleVerb, string> = {
  sleep: "Sleep",
  wake: "Wake",
  "restart-agent": "Restart agent",
  recover: "Recover",
  reset: "Reset",
};

const failed: Record<LifecycleVerb, string> = {
  wake: "It did not wake up",
  sleep: "It could not be put to sleep",
  recover: "It could not be recovered",
  reset: "The reset was not finished",
  "restart-agent": "The agent did not restart",
};

/** What is open of it; null when nothing is. */
export function openOperation({ operation }: Pick<SandboxView, "operation">): OperationView | null {
  return operation && (operation.state === "requested" || operation.state === "running") ? operation : null;
}

/** The word of its state, or of what is being done to it. How one is whose machine is away, nobody knows. */
export function stateWords(sandbox: SandboxView): { tone: DotTone; word: string } {
  if (sandbox.home?.isAway) return { tone: "still", word: "Machine away" };
  const open = openOperation(sandbox);
  return open ? { tone: "working", word: doing[open.verb] } : states[sandbox.state];
}

const phaseWords: Record<OperationPhase, string> = {
  quiescing: "Pausing the agent",
  archiving: "Saving memory and files",
  terminating: "Stopping the sandbox",
  "starting-sandbox": "Starting the sandbox",
  restoring: "Restoring the agent's memory",
  "starting-agent": "Starting the agent",
  "restarting-agent": "Restarting the agent",
  forgetting: "Forgetting what the agent knew",
  deleting: "Deleting the saved memory",
  running: "Awake",
  sleeping: "Asleep",
  terminated: "Done",
};

function wordsOf({ verb, options }: Pick<OperationView, "verb" | "options">, phase: OperationPhase): string {
  if (verb === "reset" && phase === "archiving") return "Saving the files";
  if (verb === "reset" && phase === "deleting" && options.files) return "Deleting saved memory and files";
  return phaseWords[phase];
}

/** Where it is, in words: for a line where there is no room for all steps. */
export function currentStep(operation: OperationView): string {
  if (operation.state === "requested") return "Waiting for a server";
  return wordsOf(operation, operation.phase as OperationPhase);
}

export interface Step {
  label: string;
  state: "done" | "current" | "failed" | "ahead";
  /** In milliseconds; null while it is ahead. */
  from: number | null;
  to: number | null;
}

/** The phases of a verb but its last, which is the end. What was passed over without being entered is left out. */
export function toSteps(operation: OperationView): Step[] {
  const entered = operation.phases.map(({ phase, at }) => ({ phase, at: Date.parse(at) }));
  const isOpen = operation.state === "running" || operation.state === "requested";
  const planned: readonly OperationPhase[] = lifecycleVerbs[operation.verb].phases.slice(0, -1);
  const names = new Set(entered.map(({ phase }) => phase));
  const newest = planned.findLastIndex((phase) => names.has(phase));
  return planned.flatMap((phase, index): Step[] => {
    const label = wordsOf(operation, phase);
    const place = entered.findIndex((one) => one.phase === phase);
    const from = entered[place]?.at ?? null;
    if (from === null) return index > newest && isOpen ? [{ label, state: "ahead", from: null, to: null }] : [];
    const next = entered[place + 1]?.at ?? null;
    if (next !== null) return [{ label, state: "done", from, to: next }];
    return [{ label, state: isOpen ? "current" : "failed", from, to: operation.endedAt?.getTime() ?? null }];
  });
}

const slowStore = "The file store may be slow or out of reach.";
const gone = "Its server may have stopped. This continues as soon as that server, or another one, is running.";

/** What usually helps when a phase takes longer than it may. */
export function overdueAdvice(operation: OperationView): string {
  if (operation.state === "requested") return "No server has taken it up. Try again.";
  switch (operation.phase as OperationPhase) {
    case "quiescing":
    case "archiving":
      return operation.verb === "sleep" ? `${slowStore} Wake it to keep working; it will sleep later.` : slowStore;
    case "restoring":
    case "deleting":
      return slowStore;
    default:
      return gone;
  }
}

export interface Problem {
  title: string;
  cause: string | null;
  advice: string | null;
}

/** What is wrong with it, if anything: it does not work, or the last thing done to it failed. */
export function toProblem(sandbox: SandboxView): Problem | null {
  if (openOperation(sandbox)) return null;
  const { state, cause, operation } = sandbox;
  if (state === "failed") {
    const why = cause ?? (operation?.state === "failed" ? operation.cause : null);
    return {
      title: "The sandbox is not working",
      cause: why,
      advice: "Recover it first. Reset it only if that fails.",
    };
  }
  if (operation?.state !== "failed") return null;
  const advice = operation.verb === "reset" ? "The agent has forgotten everything. Reset again to finish." : null;
  return { title: failed[operation.verb], cause: operation.cause, advice };
}

export interface ActionChoice {
  verb: LifecycleVerb;
  label: string;
  /** Why it cannot be done now. */
  refusal: string | null;
  /** What a person most likely wants. */
  first: boolean;
}

const shown: readonly LifecycleVerb[] = ["sleep", "wake", "restart-agent", "recover", "reset"];
const likely: Partial<Record<SandboxState, LifecycleVerb>> = {
  sleeping: "wake",
  terminated: "wake",
  failed: "recover",
};

/** All that can be done with a sandbox, in the order in which it is offered. */
export function toActions(sandbox: SandboxView, now: number): ActionChoice[] {
  const open = openOperation(sandbox);
  // What nobody took up in time is given up by the next request.
  const inTheWay = open?.state === "requested" && open.deadlineAt.getTime() < now ? null : open;
  return shown.map((verb) => {
    const refusal = refusalOf(sandbox, { open: inTheWay, now: new Date(now) }, verb);
    const first = !refusal && !open && likely[sandbox.state] === verb;
    return { verb, label: verbLabels[verb], refusal, first };
  });
}

function refusalOf(
  { state, home }: SandboxView,
  { open, now }: { open: OperationView | null; now: Date },
  verb: LifecycleVerb,
): string | null {
  if (open?.verb === verb) return "This is already in progress.";
  if (verb === "wake" && state === "running" && !open) return "This sandbox is awake.";
  const refusal = lifecycleRefusal({ state, open, now }, verb);
  return refusal ?? (home?.isAway ? awayRefusal(home.machine ?? "Its machine") : null);
}

/** `Isolated, on the server`; what is not known by name is said as it is called. */
export function whereWords({ backend, isolation }: Pick<SandboxView, "backend" | "isolation">): string {
  const where = { local: "on the server", docker: "in Docker", kubernetes: "in Kubernetes" }[backend] ?? backend;
  const how = { sandboxed: "Isolated", host: "Without isolation" }[isolation] ?? isolation;
  return `${how}, ${where}`;
}

/** `20 minutes`, `2 hours`, `Never`. */
export function idleWords(minutes: number): string {
  if (minutes === 0) return "Never";
  if (minutes % 60 === 0) return plural(minutes / 60, "hour");
  return plural(minutes, "minute");
}

export const idleChoices: readonly number[] = [10, 20, 30, 60, 120, 480, 0];

/** Those offered, with the one that is set where it is another. */
export function idleChoicesWith(minutes: number | null): number[] {
  if (minutes === null || idleChoices.includes(minutes)) return [...idleChoices];
  return [minutes, ...idleChoices];
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
