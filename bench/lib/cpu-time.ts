import { readdirSync, readFileSync } from "node:fs";

/** In milliseconds since each program was started, its ended children included. */
export type CpuTimes = Record<string, number>;

const ticksPerSecond = 100;

/** Of a process and all that it started, by what they are. */
export function readCpuTimes(pid: number, kindOf: (commandLine: string) => string): CpuTimes {
  const processes = new Map(readProcesses().map((process) => [process.pid, process]));
  const isBelow = (of: number): boolean => {
    const parent = processes.get(of)?.parent;
    return of === pid || (parent !== undefined && isBelow(parent));
  };
  const times: CpuTimes = {};
  for (const process of processes.values()) {
    if (!isBelow(process.pid)) continue;
    const kind = kindOf(process.commandLine);
    times[kind] = (times[kind] ?? 0) + process.milliseconds;
  }
  return times;
}

export function cpuSince(before: CpuTimes, after: CpuTimes): CpuTimes {
  return Object.fromEntries(Object.entries(after).map(([kind, time]) => [kind, time - (before[kind] ?? 0)]));
}

/** What a process of a running Dormouse is. */
export function dormouseProgram(commandLine: string): string {
  if (/opencode(\.exe)? serve/.test(commandLine)) return "opencode";
  if (commandLine.includes("sidecar.mjs")) return "sidecar";
  if (commandLine.includes("postgres")) return "Postgres";
  return commandLine.includes("server/main.ts") ? "server" : "other";
}

function readProcesses() {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // Behind the name, which may hold anything but ends with the last bracket.
      const fields = readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      const commandLine = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
      return [
        { pid: Number(name), parent: Number(fields[1]), milliseconds: (ticks * 1000) / ticksPerSecond, commandLine },
      ];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}
