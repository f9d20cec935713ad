import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { causes } from "../../server/protocol/causes.ts";
import { agentFrozenCode, freezeMilliseconds } from "../../server/protocol/sidecar.ts";
import { Problem } from "../sidecar-problem.ts";
import { type AgentProcesses, byAge } from "./agent-processes.ts";
import { commandOf, isAlive, isStill, keyOf, type ProcessEntry, signalPid } from "./process-table.ts";

/**
 * Stops the agent and all that it started, and lets it go on. States: awake; `freezing`, from before the first signal;
 * frozen, with an id; and ended, when all of it was killed and nothing goes on any more. Freezing, thawing and looking
 * happen one after the other. What was stopped before stays so afterwards.
 */
export interface Freezer {
  /** The same id while the freeze holds. Throws `timeout` when something does not stand still; then all goes on. */
  freeze(): Promise<{ freezeId: string; frozen: number }>;
  /** False when nothing was frozen. */
  thaw(): Promise<boolean>;
  /** Whether that freeze stands and nothing has moved since. */
  holds(freezeId: string): Promise<boolean>;
  /** A request came: the thaw by itself is that far away again. */
  putOff(): void;
  /** Throws while it is frozen. */
  requireAwake(): void;
  /** Throws once the freezer was ended. */
  untilAwake(): Promise<void>;
  /** Of the last moment at which it was frozen, by `performance.now()`. */
  lastFrozenAt(): number;
  /** Kills what is frozen, without letting it go on. For good: nothing is frozen or thawed any more. */
  end(): Promise<void>;
}

interface Freeze {
  id: string;
  processes: readonly ProcessEntry[];
  /** Keys of those that had been stopped by somebody else. */
  stoppedBefore: ReadonlySet<string>;
  timer: NodeJS.Timeout;
}

export interface FreezerOptions {
  processes: AgentProcesses;
  report(message: string): void;
}

const stopMilliseconds = 3_000;
/** Something may be held up for as long by a loaded machine or disk before it is looked into. */
const patienceMilliseconds = 50;

export function createFreezer({ processes, report }: FreezerOptions): Freezer {
  let current: Freeze | null = null;
  let isFreezing = false;
  let hasEnded = false;
  let lastFrozenAt = Number.NEGATIVE_INFINITY;
  let line: Promise<unknown> = Promise.resolve();
  const awaiting = new Set<() => void>();

  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = line.then(work);
    line = turn.catch(() => {});
    return turn;
  }

  function wake(): void {
    if (current) clearTimeout(current.timer);
    current = null;
    isFreezing = false;
    lastFrozenAt = performance.now();
    for (const resolve of awaiting) resolve();
    awaiting.clear();
  }

  async function freeze(): Promise<Freeze> {
    if (hasEnded) throw new Problem("conflict", "The sandbox is being ended.");
    if (current && (await isHeld(current))) return current;
    if (current) await letGo(current);
    const before = await processes.list();
    const stoppedBefore = new Set(before.filter(({ state }) => state === "T").map(keyOf));
    isFreezing = true;
    try {
      const stopped = await stopAll(processes, { first: before, isOver: () => hasEnded });
      const timer = setTimeout(() => void inTurn(thawLate), freezeMilliseconds);
      current = { id: randomUUID(), processes: stopped, stoppedBefore, timer };
      return current;
    } catch (error) {
      await goOn(before, stoppedBefore);
      wake();
      throw error;
    }
  }

  async function isHeld({ processes: frozen }: Freeze): Promise<boolean> {
    const known = new Set(frozen.map(keyOf));
    return (await processes.list()).every((entry) => known.has(keyOf(entry)) && isStill(entry));
  }

  async function goOn(known: readonly ProcessEntry[], stoppedBefore: ReadonlySet<string>): Promise<void> {
    const all = new Map([...known.filter(isAlive), ...(await processes.list())].map((entry) => [keyOf(entry), entry]));
    // Children first, so that no parent takes them for stopped.
    const latestFirst = [...all.values()].sort((first, second) => byAge(second, first));
    for (const entry of latestFirst) if (!stoppedBefore.has(keyOf(entry))) signalPid(entry.pid, "SIGCONT");
  }

  async function letGo(freeze: Freeze): Promise<void> {
    await goOn(freeze.processes, freeze.stoppedBefore);
    wake();
  }

  async function thawLate(): Promise<void> {
    if (!current) return;
    report("nobody asked for long while the agent was frozen: it goes on");
    await letGo(current);
  }

  return {
    freeze: () =>
      inTurn(async () => {
        const { id, processes: frozen } = await freeze();
        return { freezeId: id, frozen: frozen.length };
      }),
    thaw: () =>
      inTurn(async () => {
        if (!current) return false;
        await letGo(current);
        return true;
      }),
    holds: (freezeId) => inTurn(async () => current?.id === freezeId && (await isHeld(current))),
    putOff: () => void current?.timer.refresh(),
    requireAwake() {
      if (!current && !isFreezing) return;
      const { kind, message } = causes["agent-frozen"];
      throw new Problem(kind, message, { code: agentFrozenCode });
    },
    async untilAwake() {
      while ((current || isFreezing) && !hasEnded) await new Promise<void>((resolve) => awaiting.add(resolve));
      if (hasEnded) throw new Error("The sandbox is being ended.");
    },
    lastFrozenAt: () => (current || isFreezing ? performance.now() : lastFrozenAt),
    end() {
      hasEnded = true;
      return inTurn(async () => {
        if (!current) return;
        for (const entry of current.processes) if (isAlive(entry)) signalPid(entry.pid, "SIGKILL");
        wake();
      });
    },
  };
}

/** Resolves with all of them once two looks, one after the other, find the same ones and none that moves. */
async function stopAll(
  processes: AgentProcesses,
  { first, isOver }: { first: readonly ProcessEntry[]; isOver(): boolean },
): Promise<ProcessEntry[]> {
  const began = performance.now();
  let found = first;
  let before: string | null = null;
  for (;;) {
    await processes.stop(found);
    const now = await processes.list();
    const moving = now.filter((entry) => !isStill(entry));
    const seen = now.map(keyOf).join(" ");
    if ((moving.length === 0 && seen === before) || isOver()) return now;
    before = moving.length === 0 ? seen : null;
    const elapsed = performance.now() - began;
    if (elapsed > stopMilliseconds) throw notStill(moving);
    if (elapsed > patienceMilliseconds) letChildrenBegin(moving, now);
    found = now;
    // The first rounds in a row: most is over within a few milliseconds.
    await sleep(elapsed > patienceMilliseconds ? 20 : 1);
  }
}

/**
 * Whoever starts a program by vfork waits in the kernel, deaf, until its child has become that program. A child that was
 * stopped before that goes on for a moment; the next round stops both.
 */
function letChildrenBegin(moving: readonly ProcessEntry[], all: readonly ProcessEntry[]): void {
  const waiting = new Map(moving.map((entry) => [entry.pid, commandOf(entry.pid)]));
  for (const { pid, parent, state } of all) {
    if (state === "T" && waiting.get(parent) === commandOf(pid)) signalPid(pid, "SIGCONT");
  }
}

function notStill(moving: readonly ProcessEntry[]): Problem {
  const named = moving.slice(0, 3).map(({ pid }) => commandOf(pid).slice(0, 80));
  const programs = named.length > 0 ? named.join(", ") : "new ones kept starting";
  return new Problem(
    "timeout",
    `The agent's programs could not be put on hold in time, so all of them go on. Still busy: ${programs}.`,
  );
}
