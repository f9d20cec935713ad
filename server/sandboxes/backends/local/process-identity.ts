import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/**
 * A process that can be told from a later one with the same pid: by when it started, and in which life of
 * the machine. Signals go only to a process whose identity still holds.
 */
export interface ProcessIdentity {
  pid: number;
  startedAt: string;
  machineBoot: string;
}

/** Null when there is no such process, or only its corpse that nobody has collected. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const startedAt = existsSync("/proc/self/stat") ? startOnLinux(pid) : startElsewhere(pid);
  return startedAt === null ? null : { pid, startedAt, machineBoot: machineBoot() };
}

export function isAlive(identity: ProcessIdentity): boolean {
  const found = identifyProcess(identity.pid);
  return found !== null && found.startedAt === identity.startedAt && found.machineBoot === identity.machineBoot;
}

/** `target`: the process alone, or its whole group. Absence is no error: it may end at any moment by itself. */
export function signalProcess(
  identity: ProcessIdentity,
  signal: NodeJS.Signals,
  target: "process" | "group" = "process",
): void {
  if (!isAlive(identity)) return;
  signalPid(target === "group" ? -identity.pid : identity.pid, signal);
}

export function signalPid(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Neither ended nor stopped by a signal. Where this is not Linux, it is taken for so. */
export function isRunning(pid: number): boolean {
  if (!existsSync("/proc/self/stat")) return true;
  const state = statOf(pid)?.state;
  return state !== undefined && !/[TZX]/.test(state);
}

/** Linux only; elsewhere none is found. */
export function childrenOf(pid: number): number[] {
  return processes().filter((candidate) => statOf(candidate)?.parent === pid);
}

/** Linux only: the processes whose environment has exactly one of these lines. */
export function withEnvironment(lines: readonly string[]): ProcessIdentity[] {
  return processes()
    .filter((pid) => pid !== process.pid && environmentOf(pid).some((line) => lines.includes(line)))
    .map(identifyProcess)
    .filter((identity) => identity !== null);
}

function processes(): number[] {
  if (!existsSync("/proc/self/stat")) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    // Gone meanwhile, or somebody else's: in neither case one of ours.
    return [];
  }
}

function startOnLinux(pid: number): string | null {
  const stat = statOf(pid);
  return stat === null || /[ZX]/.test(stat.state) ? null : stat.startedAt;
}

function statOf(pid: number): { state: string; parent: number; startedAt: string } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name stands in brackets and may hold anything: what follows the last one has a fixed order.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", parent: Number(fields[1]), startedAt: fields[19] ?? "" };
  } catch {
    return null;
  }
}

function startElsewhere(pid: number): string | null {
  const { stdout } = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8", timeout: 5_000 });
  return stdout?.trim() || null;
}

function machineBoot(): string {
  const path = "/proc/sys/kernel/random/boot_id";
  return existsSync(path) ? readFileSync(path, "utf8").trim() : "";
}
