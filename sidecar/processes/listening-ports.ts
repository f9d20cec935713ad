import { readlinkSync } from "node:fs";
import { createTimeSlices } from "../archive/time-slices.ts";
import { namesIn, readText } from "./process-table.ts";

const maxPorts = 50;
const listening = "0A";

/** On which these processes listen: under `host` the machine's other listeners are in the same tables. */
export async function listeningPorts(input: {
  pids: readonly number[];
  without: readonly number[];
  /** By `performance.now()`. */
  deadline: number;
}): Promise<number[]> {
  const { pids, without, deadline } = input;
  const slices = createTimeSlices();
  const wanted = listeningSockets(new Set(without));
  const found = new Set<number>();
  for (const pid of pids) {
    for (const descriptor of namesIn(`/proc/${pid}/fd`)) {
      if (wanted.size === 0 || found.size >= maxPorts || performance.now() > deadline) return sorted(found);
      const socket = socketBehind(`/proc/${pid}/fd/${descriptor}`);
      const port = wanted.get(socket);
      if (port === undefined) continue;
      found.add(port);
      wanted.delete(socket);
    }
    const pause = slices.turn();
    if (pause) await pause;
  }
  return sorted(found);
}

/** Ports by the number of their socket. */
function listeningSockets(without: ReadonlySet<number>): Map<string, number> {
  const sockets = new Map<string, number>();
  for (const table of ["tcp", "tcp6"]) {
    for (const line of readText(`/proc/self/net/${table}`).split("\n").slice(1)) {
      const [, address = "", , state, , , , , , socket = ""] = line.trim().split(/\s+/);
      const port = Number.parseInt(address.slice(address.lastIndexOf(":") + 1), 16);
      if (state === listening && !without.has(port)) sockets.set(socket, port);
    }
  }
  return sockets;
}

function socketBehind(descriptor: string): string {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(descriptor))?.[1] ?? "";
  } catch {
    // Closed meanwhile, or somebody else's.
    return "";
  }
}

function sorted(ports: Set<number>): number[] {
  return [...ports].sort((first, second) => first - second);
}
