import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { sandboxes as table } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError, faultError } from "../errors.ts";
import { createLoop } from "../lib/loop.ts";
import { causes } from "../protocol/causes.ts";
import { adoptAll, adoptBeforeWake, adoptLapsed, type TakeOver } from "./adopt-all.ts";
import { assignSandbox } from "./assign-sandbox.ts";
import { findBusy } from "./busy.ts";
import { beginLook, ensureAgentReady } from "./ensure-agent-ready.ts";
import { createHeldSandboxes } from "./held-sandboxes.ts";
import { claimSandboxes, continueHere, seeHomes, setAsideMoved, supersedeAway } from "./homes.ts";
import { requestIdleSleeps } from "./idle-sandboxes.ts";
import type { Lifecycle, RunningSandbox } from "./index.ts";
import { createLeases, renewWhile, type SandboxRecord } from "./lease.ts";
import {
  defaultDeadlines,
  type HeldSandbox,
  type LifecycleContext,
  type LifecycleOptions,
  toOwned,
} from "./lifecycle-context.ts";
import { createOperator, operationsChannel } from "./operator.ts";
import { createPhaseReporter, type ReportPhase } from "./phase-reporter.ts";
import { refreshConfig } from "./refresh-agent-config.ts";
import { requestOperation } from "./request-operation.ts";
import { settleOpen } from "./settle-open.ts";
import { createSharedWakes, orAborted } from "./shared-wakes.ts";
import { sleepAtStop } from "./sleep-sandbox.ts";
import { wakeSandbox } from "./wake-sandbox.ts";
import { watchActivity } from "./watch-activity.ts";

/** Everything that happens to sandboxes as a whole: who holds them, what is asked for, what goes on by itself. */
export function createLifecycle({ deadlines, ...options }: LifecycleOptions): Lifecycle {
  const { database, homeId, home } = options;
  const leases = createLeases({ database, instance: randomUUID(), homeId, home: home.id });
  const context: LifecycleContext = { ...options, leases, deadlines: { ...defaultDeadlines, ...deadlines } };
  const { logger, archives } = context;
  const stopping = new AbortController();
  /** Which sessions were found to belong to a held sandbox: fixed at their first use, so it need not be asked again. */
  const assigned = new Map<string, { userId: string; sandboxId: string }>();
  const sandboxes = createHeldSandboxes(context, {
    stopping: stopping.signal,
    onLetGo(ended) {
      for (const [sessionId, { sandboxId }] of assigned) if (sandboxId === ended) assigned.delete(sessionId);
    },
  });
  const wakes = createSharedWakes();
  let closing: Promise<void> | undefined;

  const isOurs = (sandboxId: string) =>
    sandboxes.get(sandboxId) !== undefined || sandboxes.isChanging(sandboxId) || wakes.isWaking(sandboxId);

  /** A wake must not come between the lease and the hold: it would end what is just being kept. */
  const takeOver: TakeOver = async (sandboxId, adopt) => {
    if (isOurs(sandboxId)) return null;
    return sandboxes.change(sandboxId, async () => {
      const sandbox = await adopt();
      if (!stopping.signal.aborted) return sandbox && sandboxes.hold(sandbox);
      if (sandbox) await leases.release(sandbox.lease);
      return null;
    });
  };

  /** Held by this process, also when it takes over only now what a gone server left. */
  async function findHeld(sandboxId: string, actor: Actor, signal: AbortSignal): Promise<HeldSandbox | null> {
    await orAborted(sandboxes.changed(sandboxId), signal);
    if (!isOurs(sandboxId)) {
      const adopting = adoptBeforeWake(context, { actor, sandboxId, takeOver, signal: stopping.signal });
      await orAborted(adopting, signal);
      // Another one may have come first.
      await orAborted(sandboxes.changed(sandboxId), signal);
    }
    return sandboxes.get(sandboxId) ?? null;
  }

  /** Held, and staying awake for whoever asks. */
  async function findAwake(sandboxId: string, actor: Actor, signal: AbortSignal): Promise<HeldSandbox | null> {
    const sleep = sandboxes.get(sandboxId)?.sleep;
    if (sleep) await orAborted(sleep.callOff("A message came in."), signal);
    return sandboxes.get(sandboxId) ?? findHeld(sandboxId, actor, signal);
  }

  /** What nobody here runs: over, or out of reach. */
  async function requireOver(sandboxId: string, actor: Actor, signal: AbortSignal): Promise<void> {
    const [row] = await context.database.transaction(actor, (tx) =>
      tx.select().from(table).where(eq(table.id, sandboxId)),
    );
    if (row?.observedState !== "running") return;
    const { leaseOwner, leaseExpiresAt } = row;
    if (leaseOwner && leaseExpiresAt && leaseExpiresAt > new Date() && !leases.isOwn(leaseOwner)) throw heldElsewhere();
    const report = await context.backends.find(row.backend)?.report(sandboxId, row.address, signal);
    if (report !== "gone") throw faultError("sandbox-away");
  }

  async function wake(sandboxId: string, actor: Actor, reportPhase: ReportPhase): Promise<HeldSandbox> {
    await sandboxes.changed(sandboxId);
    stopping.signal.throwIfAborted();
    const known = sandboxes.get(sandboxId);
    if (known) return known;
    const { lease, row } = await takeSettled(sandboxId, actor);
    try {
      const reason = row.observedState === "failed" ? "failed" : "needed";
      const waking = { lease, row, reportPhase, reason, signal: stopping.signal } as const;
      const held = sandboxes.hold(await renewWhile(context, lease, () => wakeSandbox(context, waking)));
      sandboxes.inBackground(catchUp(held, row), "What had to wait for a wake was not done");
      return held;
    } catch (error) {
      await leases.release(lease).catch(() => {});
      throw error;
    }
  }

  /** The lease, with nothing of an earlier holder left to be finished. */
  async function takeSettled(sandboxId: string, actor: Actor) {
    // What is settled ends the sandbox and its lease, and leaves nothing open.
    for (let settled = 0; settled < 2; settled += 1) {
      const taken = await leases.take(actor, sandboxId);
      if (!taken) throw heldElsewhere();
      const backend = context.backends.require(taken.row.backend);
      if (!(await settleOpen(context, { ...taken, backend, signal: stopping.signal }))) return taken;
    }
    throw faultError("sandbox-start");
  }

  /** What an earlier version left is made anew once nothing runs in it. */
  async function recycle({ isOutdated, lease }: HeldSandbox): Promise<void> {
    const { actor, sandboxId } = lease;
    if (!isOutdated || (await database.transaction(actor, (tx) => findBusy(tx, sandboxId)))) return;
    await tellHolders([
      await requestOperation(context, actor, { sandboxId, verb: "recover", reason: "other-version" }),
    ]);
  }

  /** What had to wait until it is awake. */
  async function catchUp(held: HeldSandbox, { unsavedSince }: SandboxRecord): Promise<void> {
    const { signal } = stopping;
    await archives.clearRemoved(toOwned(held), signal);
    if (unsavedSince) await archives.archiveSandbox(toOwned(held), { gently: true, signal });
  }

  const operator = createOperator(context, {
    sandboxes,
    wake: (sandboxId, actor) => {
      const begin = (reportPhase: ReportPhase) => wake(sandboxId, actor, reportPhase);
      return wakes.join({ sandboxId, begin, listener: async () => {}, signal: stopping.signal });
    },
    findHeld: (sandboxId, actor) => findHeld(sandboxId, actor, stopping.signal),
    stopping: stopping.signal,
  });

  async function findOrAssign(actor: Actor, sessionId: string, signal: AbortSignal): Promise<string> {
    const known = assigned.get(sessionId);
    if (known?.userId === actor.userId) return known.sandboxId;
    const { backends } = context;
    return assignSandbox({ database, backends, home, actor, sessionId, signal });
  }

  async function refresh(sandbox: HeldSandbox): Promise<void> {
    const quiet = {
      asking: null,
      reportPhase: () => {},
      signal: AbortSignal.any([stopping.signal, sandbox.lost.signal]),
    };
    await sandbox.serial.run(() => refreshConfig(context, sandbox, quiet));
  }

  const renewals = createLoop({
    name: "renew-leases",
    everyMilliseconds: context.deadlines.renewEveryMilliseconds,
    logger,
    run: async () => {
      const outcomes = await Promise.allSettled(
        sandboxes.all().map(async (sandbox) => {
          if (!(await leases.renew(sandbox.lease)))
            sandboxes.letGo(sandbox, "Another server has taken over this sandbox.");
        }),
      );
      const failure = outcomes.find((outcome) => outcome.status === "rejected");
      if (failure) throw failure.reason;
    },
  });
  renewals.start();

  const takeovers = createLoop({
    name: "take-over-sandboxes",
    everyMilliseconds: context.deadlines.takeOverEveryMilliseconds,
    logger,
    async run(signal) {
      await setAsideMoved(context, signal);
      await adoptLapsed(context, { isOurs, takeOver, signal });
    },
  });

  async function tellHolders(asked: readonly { sandboxId: string; tenantId: string; userId: string }[]): Promise<void> {
    for (const { sandboxId, tenantId, userId } of asked) {
      const payload = `${sandboxId} ${tenantId} ${userId}`;
      await database.call("select pg_notify($1, $2)", [operationsChannel, payload], { repeatable: true });
    }
  }

  const idle = createLoop({
    name: "sleep-idle-sandboxes",
    everyMilliseconds: context.deadlines.idleEveryMilliseconds,
    logger,
    run: async () => tellHolders(await requestIdleSleeps(context)),
  });

  const activity = createLoop({
    name: "watch-activity",
    everyMilliseconds: context.deadlines.activityEveryMilliseconds,
    logger,
    async run(signal) {
      for (const outcome of await Promise.allSettled(
        sandboxes.all().map((held) => watchActivity(context, held, signal)),
      )) {
        if (outcome.status === "rejected") logger.warn({ err: outcome.reason }, "A sandbox did not say what it does");
      }
    },
  });

  let away = "";
  const seeing = createLoop({
    name: "see-homes",
    everyMilliseconds: context.deadlines.homesEveryMilliseconds,
    logger,
    async run() {
      const now = (await seeHomes(context)).flatMap(({ id, isAway }) => (isAway ? [id] : [])).join(" ");
      if (now !== away) options.onHomesChanged?.();
      away = now;
    },
  });

  async function close(terminate: boolean): Promise<void> {
    stopping.abort(new AppError("unavailable", "The server is stopping."));
    await Promise.all([
      renewals.stop(),
      takeovers.stop(),
      seeing.stop(),
      idle.stop(),
      activity.stop(),
      operator.close(),
    ]);
    await wakes.ended();
    const ends = sandboxes.all().map(async (sandbox) => {
      await sandbox.sleep?.callOff("The server is stopping.");
      // What was decided meanwhile is over.
      if (!sandboxes.letGo(sandbox, "The server is stopping.")) return;
      if (terminate) await renewWhile(context, sandbox.lease, () => sleepAtStop(context, sandbox));
      else await leases.release(sandbox.lease);
    });
    for (const outcome of await Promise.allSettled(ends)) {
      if (outcome.status === "rejected") logger.error({ err: outcome.reason }, "A sandbox could not be released");
    }
    await sandboxes.ended();
  }

  return {
    async ensureRunning({ actor, sessionId, look, onPhase, signal }) {
      const sandboxId = await findOrAssign(actor, sessionId, signal);
      const reporter = createPhaseReporter(onPhase);
      const running = await findAwake(sandboxId, actor, signal);
      if (running) {
        // Others may be looking at it, with patience of their own: whoever gives up leaves that to them.
        const reportPhase: ReportPhase = (phase) => signal.aborted || reporter.report(phase);
        const looking = ensureAgentReady(context, running, { sessionId, look, reportPhase, signal });
        const fit = await orAborted(looking, signal);
        await orAborted(reporter.heard(), signal);
        if (fit) {
          assigned.set(sessionId, { userId: actor.userId, sandboxId });
          return expose(running);
        }
        await orAborted(sandboxes.lose(running, causes["sandbox-ended"].message), signal);
      }
      const begin = (reportPhase: ReportPhase) => wake(sandboxId, actor, reportPhase);
      const woken = await wakes.join({ sandboxId, begin, listener: onPhase, signal });
      if (sandboxes.get(sandboxId) === woken) assigned.set(sessionId, { userId: actor.userId, sandboxId });
      return expose(woken);
    },
    lookAhead({ actor, sessionId }) {
      const known = assigned.get(sessionId);
      const sandbox = known?.userId === actor.userId ? sandboxes.get(known.sandboxId) : undefined;
      if (!sandbox || sandbox.sleep) return null;
      return beginLook(context, sandbox, { sandbox: expose(sandbox), signal: stopping.signal });
    },
    async findOrTakeOver({ actor, sandboxId, signal }) {
      const running = sandboxes.get(sandboxId) ?? (await findHeld(sandboxId, actor, signal));
      if (running) return expose(running);
      await requireOver(sandboxId, actor, signal);
      return null;
    },
    isOwnLease: leases.isOwn,
    isReachable: (of) => of === null || of === home.id,
    continueHere: (input) => continueHere(context, input),
    supersedeAway: (input) => supersedeAway(context, input),
    findRunning(sandboxId) {
      const sandbox = sandboxes.get(sandboxId);
      return sandbox ? expose(sandbox) : null;
    },
    listRunning: () => sandboxes.all().map((sandbox) => ({ ...expose(sandbox), actor: sandbox.lease.actor })),
    applyModels(tenantId) {
      for (const sandbox of sandboxes.all()) {
        if (sandbox.lease.actor.tenantId !== tenantId) continue;
        sandboxes.inBackground(refresh(sandbox), "An agent could not be restarted with the changed models");
      }
    },
    async tellHolder({ sandboxId, actor }) {
      await tellHolders([{ sandboxId, ...actor }]);
    },
    async request(viewer, request) {
      const operation = await requestOperation(context, viewer, request);
      await tellHolders([operation]);
      return operation;
    },
    turnEnded(sandboxId) {
      const sandbox = sandboxes.get(sandboxId);
      if (!sandbox) return;
      sandboxes.inBackground(leases.markActive(sandbox.lease), "The end of a turn was not noted");
      sandboxes.inBackground(recycle(sandbox), "A sandbox of an earlier version was not made anew");
      if (!sandbox.configIsStale) return;
      sandboxes.inBackground(refresh(sandbox), "An agent could not be restarted with the changed models");
    },
    async adopt(signal) {
      await seeing.runNow();
      seeing.start();
      await claimSandboxes(context, signal);
      await setAsideMoved(context, signal);
      const adopted = await adoptAll(context, { takeOver, signal: AbortSignal.any([signal, stopping.signal]) });
      takeovers.start();
      operator.start();
      idle.start();
      activity.start();
      for (const sandbox of adopted) {
        sandboxes.inBackground(recycle(sandbox), "A sandbox of an earlier version was not made anew");
      }
      return adopted.map(({ lease }) => ({ sandboxId: lease.sandboxId, actor: lease.actor }));
    },
    close({ terminate }) {
      closing ??= close(terminate);
      return closing;
    },
  };
}

/** The holder of the lease does what was wanted; whoever can leave it to that one does. */
function heldElsewhere(): AppError {
  const message = "Another server is running this sandbox. Try again shortly.";
  return new AppError("unavailable", message, { refusal: "lease-elsewhere" });
}

function expose({ lease, sidecar, lost, configHash }: HeldSandbox): RunningSandbox {
  return { sandboxId: lease.sandboxId, leaseEpoch: lease.epoch, sidecar, configHash, signal: lost.signal };
}
