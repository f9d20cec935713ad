import { and, eq, gt, type SQL, sql } from "drizzle-orm";
import { sandboxes } from "../../db/schema/index.ts";
import type { SandboxActivity } from "../protocol/sidecar.ts";
import type { HeldSandbox, LifecycleContext } from "./lifecycle-context.ts";

/** What makes a program of the agent count as work: so much of one core, or so much written, since the last look. */
const busyShare = 0.05;
const busyBytes = 1024 * 1024;
/** Since somebody used the sandbox: a program that runs away does not keep it awake for ever. */
const maxHours = 12;
const lookMilliseconds = 10_000;

/**
 * Looks what goes on in a sandbox besides turns: programs of the agent that work keep it awake until the next look, and
 * a file that changed counts as use. A server that only listens, or an open tab, is neither.
 */
export async function watchActivity(
  context: LifecycleContext,
  held: HeldSandbox,
  stopping: AbortSignal,
): Promise<void> {
  if (held.isOutdated || held.sleep) return;
  const signal = AbortSignal.any([stopping, held.lost.signal, AbortSignal.timeout(lookMilliseconds)]);
  const activity = await held.sidecar.activity(signal);
  const { lastFileChangeAt } = activity;
  const changes: Record<string, SQL> = {};
  if (lastFileChangeAt)
    changes.lastActiveAt = sql`greatest(${sandboxes.lastActiveAt}, least(now(), ${lastFileChangeAt}::timestamptz))`;
  if (isWorking(activity)) {
    const until = context.deadlines.activityEveryMilliseconds + 60_000;
    changes.noSleepBefore = sql`greatest(${sandboxes.noSleepBefore}, now() + make_interval(secs => ${until / 1000}))`;
  }
  if (Object.keys(changes).length === 0) return;
  const usedLately = gt(sandboxes.lastActiveAt, sql`now() - make_interval(hours => ${maxHours})`);
  await context.leases.write(held.lease, async (tx) => {
    await tx
      .update(sandboxes)
      .set(changes)
      .where(and(eq(sandboxes.id, held.lease.sandboxId), usedLately));
  });
}

function isWorking({ since, processes }: SandboxActivity): boolean {
  // At the first look it is not known how long they took for it.
  if (!since) return false;
  const elapsed = Math.max(1, Date.now() - Date.parse(since));
  return processes.some(
    ({ cpuMilliseconds, writtenBytes }) => cpuMilliseconds >= elapsed * busyShare || writtenBytes >= busyBytes,
  );
}
