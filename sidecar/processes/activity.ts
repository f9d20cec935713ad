import type { SandboxActivity } from "../../server/protocol/sidecar.ts";
import { createTimeSlices } from "../archive/time-slices.ts";
import type { AgentProcesses } from "./agent-processes.ts";
import { createLastFileChange } from "./last-file-change.ts";
import { listeningPorts } from "./listening-ports.ts";
import { commandOf, keyOf, type ProcessEntry, readText } from "./process-table.ts";

/** What goes on in the sandbox besides opencode itself, as far as it can be seen within that time. */
export interface Activity {
  look(): Promise<SandboxActivity>;
}

export interface ActivityOptions {
  processes: AgentProcesses;
  /** Of opencode itself. */
  agentPid(): number | null;
  /** On which opencode and the sidecar listen. */
  ownPorts(): readonly number[];
  sessions: string;
}

interface Use {
  cpuMilliseconds: number;
  writtenBytes: number;
}

const lookMilliseconds = 2_000;
const maxRead = 10_000;
const maxShown = 50;
const maxCommand = 200;

export function createActivity({ processes, agentPid, ownPorts, sessions }: ActivityOptions): Activity {
  const lastFileChange = createLastFileChange(sessions);
  let last: { at: string; uses: Map<string, Use> } | null = null;

  async function look(): Promise<SandboxActivity> {
    const deadline = performance.now() + lookMilliseconds;
    const at = new Date().toISOString();
    const agent = agentPid();
    const running = (await processes.list()).filter(({ pid }) => pid !== agent);
    const uses = await readUses(running.slice(0, maxRead), deadline);
    const sinceLast = uses.map(({ entry, use }) => ({ entry, use: difference(use, last?.uses.get(keyOf(entry))) }));
    const machineStart = readMachineStart();
    const shown = sinceLast.sort(byUse).slice(0, maxShown);
    const ports = await listeningPorts({ pids: running.map(({ pid }) => pid), without: ownPorts(), deadline });
    const answer = {
      since: last?.at ?? null,
      processes: shown.map(({ entry, use }) => ({
        pid: entry.pid,
        command: commandOf(entry.pid).slice(0, maxCommand),
        ...use,
        startedAt: new Date(machineStart + entry.startedMilliseconds).toISOString(),
      })),
      more: running.length - shown.length,
      ports,
      lastFileChangeAt: await lastFileChange.look(deadline),
    };
    last = { at, uses: new Map(uses.map(({ entry, use }) => [keyOf(entry), use])) };
    return answer;
  }

  let line: Promise<unknown> = Promise.resolve();
  return {
    look() {
      const turn = line.then(look);
      line = turn.catch(() => {});
      return turn;
    },
  };
}

async function readUses(running: readonly ProcessEntry[], deadline: number) {
  const slices = createTimeSlices();
  const uses: { entry: ProcessEntry; use: Use }[] = [];
  for (const entry of running) {
    if (performance.now() > deadline) break;
    uses.push({ entry, use: { cpuMilliseconds: entry.cpuMilliseconds, writtenBytes: writtenBytes(entry.pid) } });
    const pause = slices.turn();
    if (pause) await pause;
  }
  return uses;
}

/** To files, its ended children included; the kernel adds theirs up here. */
function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readText(`/proc/${pid}/io`))?.[1] ?? 0);
}

function difference(now: Use, before: Use | undefined): Use {
  return {
    cpuMilliseconds: now.cpuMilliseconds - (before?.cpuMilliseconds ?? 0),
    writtenBytes: now.writtenBytes - (before?.writtenBytes ?? 0),
  };
}

function byUse({ use: first }: { use: Use }, { use: second }: { use: Use }): number {
  return second.cpuMilliseconds - first.cpuMilliseconds || second.writtenBytes - first.writtenBytes;
}

/** When the clock began by which processes tell their start. */
function readMachineStart(): number {
  return Number(/^btime (\d+)/m.exec(readText("/proc/stat"))?.[1] ?? 0) * 1_000;
}
