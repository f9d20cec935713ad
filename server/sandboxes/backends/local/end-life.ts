import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../errors.ts";
import type { LifeRecord } from "./life-record.ts";
import {
  childrenOf,
  isAlive,
  isRunning,
  type ProcessIdentity,
  signalPid,
  signalProcess,
  withEnvironment,
} from "./process-identity.ts";

export interface EndOptions {
  sandboxId: string;
  workspace: string;
  /** How long the sidecar has to end the agent by itself. */
  graceMilliseconds: number;
  /** Aborted: no more patience, the end is forced at once. */
  signal: AbortSignal;
}

export function isLifeOver(life: LifeRecord): boolean {
  return life.first ? !isAlive(life.first) : !isAlive(life.leader);
}

/** Resolves once nothing of that life runs any more; throws `timeout` when the kernel does not let go of it. */
export async function endLife(life: LifeRecord, options: EndOptions): Promise<void> {
  const asked = askToEnd(life);
  const patience = AbortSignal.any([options.signal, AbortSignal.timeout(options.graceMilliseconds)]);
  // Who has ended left behind what nobody waits for; who is stopped would hear of it only once it went on.
  await until(() => isLifeOver(life) || !asked.some(isRunning), patience);
  // Killing the first process of a pid namespace ends all others in it before it is gone itself.
  if (life.first) signalProcess(life.first, "SIGKILL");
  signalProcess(life.leader, "SIGKILL", "group");
  const left = () => [...survivors(life), ...(life.first ? [] : strays(options))];
  const forced = AbortSignal.timeout(5_000);
  const over = await until(() => {
    const remaining = left();
    for (const process of remaining) signalProcess(process, "SIGKILL");
    return remaining.length === 0;
  }, forced);
  if (!over) throw new AppError("timeout", "A process of the sandbox was killed but does not end.");
}

/** The line in the environment of everything that runs in a sandbox without a pid namespace of its own. */
export function homeOf(workspace: string): string {
  return join(workspace, "home");
}

// A namespace's first process does not hear SIGTERM, so its child, the sidecar, is told.
function askToEnd({ first, leader }: LifeRecord): number[] {
  if (!first) {
    signalProcess(leader, "SIGTERM");
    return [leader.pid];
  }
  const children = isAlive(first) ? childrenOf(first.pid) : [];
  for (const pid of children) signalPid(pid, "SIGTERM");
  return children;
}

function survivors(life: LifeRecord): ProcessIdentity[] {
  return [life.leader, life.first].filter((process) => process !== null).filter(isAlive);
}

// Without a namespace a process can leave its group and outlive its parents; its environment still tells
// whose it is: the sidecar marks its agent, and HOME is the sidecar's own.
function strays({ sandboxId, workspace }: EndOptions): ProcessIdentity[] {
  return withEnvironment([`DORMOUSE_SANDBOX=${sandboxId}`, `HOME=${homeOf(workspace)}`]);
}

async function until(condition: () => boolean, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    if (condition()) return true;
    if (signal.aborted) return false;
    await sleep(20);
  }
}
