import { readlinkSync } from "node:fs";
import { helperPids } from "./helper-programs.ts";
import { isMarked } from "./marked-processes.ts";
import { isAlive, listProcesses, type ProcessEntry, readProcess, signalPid, withDescendants } from "./process-table.ts";

/** What the agent is and has started, without the sidecar and the helpers that it runs. */
export interface AgentProcesses {
  list(): Promise<ProcessEntry[]>;
  /** Sends SIGSTOP to them: at least to those given, in a namespace of their own to all at the same moment. */
  stop(known: readonly ProcessEntry[]): Promise<void>;
}

export interface AgentProcessesOptions {
  /** In the environment of everything that descends from the agent, unless it was taken out. */
  mark: string;
  /** Of the launch. */
  ownPidNamespace: boolean;
  agentPid(): number | null;
}

/** The kernel's number for the namespace that a machine starts with. */
const machineNamespace = "pid:[4026531836]";

export function createAgentProcesses(options: AgentProcessesOptions): AgentProcesses {
  // Whatever the launch says: a signal to all would stop the machine of whoever sits before it.
  const isAlone = options.ownPidNamespace && namespaceOf("self") !== machineNamespace;
  return isAlone ? inOwnNamespace() : amongOthers(options);
}

function inOwnNamespace(): AgentProcesses {
  const split = async () => {
    const all = await listProcesses();
    const helpers = new Set(withDescendants(all, helperPids()));
    // The first process starts and buries; no signal of ours reaches it.
    const mine = all.filter((entry) => entry.pid !== 1 && entry.pid !== process.pid && !helpers.has(entry));
    return { mine, helpers };
  };
  return {
    list: async () => (await split()).mine,
    async stop() {
      // In one moment for all but the sender and the first: nobody forks a child that is missed.
      signalPid(-1, "SIGSTOP");
      const { helpers } = await split();
      for (const { pid } of helpers) signalPid(pid, "SIGCONT");
    },
  };
}

/**
 * Found by descent and by mark, look by look. Who leaves both behind, or hands its work on to a new process faster than
 * anybody can look, is missed: without a namespace there is nothing that would hold it.
 */
function amongOthers({ mark, agentPid }: AgentProcessesOptions): AgentProcesses {
  return {
    async list() {
      const agent = agentPid();
      const roots: number[] = [];
      const all = await listProcesses(({ pid }) => {
        if (pid === agent || isMarked(pid, mark)) roots.push(pid);
      });
      return withDescendants(all, roots).filter(({ pid }) => pid !== process.pid);
    },
    async stop(known) {
      const ownGroup = readProcess(process.pid)?.group;
      // Parents first, so that none sees a child that was stopped.
      const oldestFirst = known.toSorted(byAge);
      for (const entry of oldestFirst) if (isAlive(entry)) signalPid(entry.pid, "SIGSTOP");
      // In one moment with whatever they fork. All groups of the agent were made by it; one whose known members have
      // ended a moment ago is still its.
      const groups = new Set(oldestFirst.map(({ group }) => group));
      for (const group of groups) if (group > 1 && group !== ownGroup) signalPid(-group, "SIGSTOP");
    },
  };
}

export function byAge(first: ProcessEntry, second: ProcessEntry): number {
  return Number(first.startTime) - Number(second.startTime) || first.pid - second.pid;
}

function namespaceOf(name: string): string {
  try {
    return readlinkSync(`/proc/${name}/ns/pid`);
  } catch {
    return machineNamespace;
  }
}
