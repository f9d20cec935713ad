import { readdirSync, readFileSync } from "node:fs";
import { createTimeSlices } from "../archive/time-slices.ts";
import { codeOf } from "../sidecar-problem.ts";

/** A pid alone may have been given to somebody else since; with the start time it is one process. */
export interface ProcessIdentity {
  pid: number;
  startTime: string;
}

export interface ProcessEntry extends ProcessIdentity {
  parent: number;
  /** The process group. */
  group: number;
  /** As the kernel names it: R, S, D, T and so on. */
  state: string;
  threads: number;
  /** Of itself and of its children that have ended. */
  cpuMilliseconds: number;
  startedMilliseconds: number;
}

/** USER_HZ, the same on every architecture that Node runs on. */
const millisecondsPerTick = 10;

/** Null when it is gone, or only its corpse is left. */
export function readProcess(pid: number): ProcessEntry | null {
  const text = readText(`/proc/${pid}/stat`);
  // The name in parentheses may hold blanks and brackets; what follows the last one has a fixed order.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const state = fields[0] ?? "";
  const field = (index: number) => Number(fields[index]);
  const threads = field(17);
  const isCorpse = state === "X" || (state === "Z" && threads <= 1);
  if (fields[19] === undefined || isCorpse) return null;
  return {
    pid,
    startTime: fields[19],
    parent: field(1),
    group: field(2),
    state,
    threads,
    cpuMilliseconds: (field(11) + field(12) + field(13) + field(14)) * millisecondsPerTick,
    startedMilliseconds: field(19) * millisecondsPerTick,
  };
}

/**
 * Everything in sight, corpses left out. The latest first, each looked at whole and at once: those that live for a
 * moment only are among them.
 */
export async function listProcesses(onEntry?: (entry: ProcessEntry) => void): Promise<ProcessEntry[]> {
  const slices = createTimeSlices();
  const found: ProcessEntry[] = [];
  for (const name of namesIn("/proc").reverse()) {
    if (!/^\d+$/.test(name)) continue;
    const entry = readProcess(Number(name));
    if (entry) {
      found.push(entry);
      onEntry?.(entry);
    }
    const pause = slices.turn();
    if (pause) await pause;
  }
  return found;
}

/** Whether none of its threads can do anything before it is told to go on. */
export function isStill({ pid, state, threads }: ProcessEntry): boolean {
  if (!isStillState(state)) return false;
  if (threads <= 1) return true;
  // The first thread may stand still while another is still on its way out of the kernel.
  return namesIn(`/proc/${pid}/task`).every((thread) => isStillState(stateOfThread(pid, thread)));
}

/** `t` is under a debugger, which stands still itself. */
function isStillState(state: string): boolean {
  return /^[TtZX]?$/.test(state);
}

/** Empty when it is gone. */
function stateOfThread(pid: number, thread: string): string {
  const text = readText(`/proc/${pid}/task/${thread}/stat`);
  return text === "" ? "" : text.charAt(text.lastIndexOf(")") + 2);
}

export function keyOf({ pid, startTime }: ProcessIdentity): string {
  return `${pid}:${startTime}`;
}

export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  return readProcess(pid)?.startTime === startTime;
}

/** Those of `all` that are, or descend from, one of `roots`. */
export function withDescendants(all: readonly ProcessEntry[], roots: Iterable<number>): ProcessEntry[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  // A set that grows while it is walked.
  const pids = new Set(roots);
  for (const pid of pids) for (const child of children.get(pid) ?? []) pids.add(child.pid);
  return all.filter(({ pid }) => pids.has(pid));
}

/** Empty for those of other users, which cannot be read. */
export function environmentOf(pid: number): string[] {
  return readText(`/proc/${pid}/environ`, "latin1").split("\0");
}

/** With its parameters; of one that has none left, its short name. */
export function commandOf(pid: number): string {
  const command = readText(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
  return command || `[${readText(`/proc/${pid}/comm`).trim()}]`;
}

/** Without effect on what has ended, and on what belongs to another user. -1 is everybody in sight, -n a group. */
export function signalPid(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!["ESRCH", "EPERM"].includes(codeOf(error) ?? "")) throw error;
  }
}

export function readText(path: string, encoding: "utf8" | "latin1" = "utf8"): string {
  try {
    return readFileSync(path, encoding);
  } catch {
    // Gone meanwhile, or somebody else's.
    return "";
  }
}

export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
