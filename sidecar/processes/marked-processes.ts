import { setTimeout as sleep } from "node:timers/promises";
import { environmentOf, listProcesses, type ProcessEntry, signalPid } from "./process-table.ts";

/** Processes whose environment began with this entry; those of other users cannot be read and are not ours. */
export async function findMarked(mark: string): Promise<ProcessEntry[]> {
  return (await listProcesses()).filter(({ pid }) => isMarked(pid, mark));
}

export function isMarked(pid: number, mark: string): boolean {
  return pid !== process.pid && environmentOf(pid).includes(mark);
}

const grace = 1_500;
const pollEvery = 50;

/** Ends everything marked: asked first, then killed; what is stopped would not hear. Resolves with how many there were. */
export async function endMarked(mark: string): Promise<number> {
  const first = await findMarked(mark);
  const deadline = Date.now() + grace;
  for (const { pid, state } of first) signalPid(pid, state === "T" ? "SIGKILL" : "SIGTERM");
  for (let left = first; left.length > 0; left = await findMarked(mark)) {
    // New ones may be forked while the old ones are being killed; the rounds are bounded all the same.
    if (Date.now() > deadline) for (const { pid } of left) signalPid(pid, "SIGKILL");
    if (Date.now() > deadline + 2 * grace) throw new Error(`${left.length} processes of an earlier life do not end`);
    await sleep(pollEvery);
  }
  return first.length;
}
