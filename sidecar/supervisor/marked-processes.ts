import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../sidecar-problem.ts";

/** A pid alone may have been given to somebody else since; with the start time it is one process. */
export interface ProcessIdentity {
  pid: number;
  startTime: string;
}

export async function identify(pid: number): Promise<ProcessIdentity | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (stat === null) return null;
  // The name in parentheses may hold blanks; after it, state is the first field and start time the 20th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, startTime] = [fields[0], fields[19]];
  return startTime === undefined || state === "Z" || state === "X" ? null : { pid, startTime };
}

export async function isAlive({ pid, startTime }: ProcessIdentity): Promise<boolean> {
  return (await identify(pid))?.startTime === startTime;
}

/** Processes whose environment began with this entry; those of other users cannot be read and are not ours. */
export async function findMarked(mark: string): Promise<ProcessIdentity[]> {
  const found: ProcessIdentity[] = [];
  for (const name of await readdir("/proc").catch(() => [])) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
    if (!environment.split("\0").includes(mark)) continue;
    const identity = await identify(pid);
    if (identity) found.push(identity);
  }
  return found;
}

/** `pid` leads a group of its own. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  kill(-pid, signal);
}

const grace = 1_500;
const pollEvery = 50;

/** Ends everything marked: asked first, then killed. Resolves with how many there were. */
export async function endMarked(mark: string): Promise<number> {
  const first = await findMarked(mark);
  const deadline = Date.now() + grace;
  for (const { pid } of first) kill(pid, "SIGTERM");
  for (let left = first; left.length > 0; left = await findMarked(mark)) {
    // New ones may be forked while the old ones are being killed; the rounds are bounded all the same.
    if (Date.now() > deadline) for (const { pid } of left) kill(pid, "SIGKILL");
    if (Date.now() > deadline + 2 * grace) throw new Error(`${left.length} processes of an earlier life do not end`);
    await sleep(pollEvery);
  }
  return first.length;
}

/** Harmless when it has ended meanwhile. */
function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}
