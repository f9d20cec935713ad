import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { sandboxes } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError, faultError } from "../errors.ts";
import { createLoop } from "../lib/loop.ts";
import { causes } from "../protocol/causes.ts";
import { adoptAll, adoptBeforeWake, adoptLapsed, type TakeOver } from "./adopt-all.ts";
import { assignSandbox } from "./assign-sandbox.ts";
import { endSandbox } from "./end-sandbox.ts";
import { beginLook, ensureAgentReady } from "./ensure-agent-ready.ts";
import { claimSandboxes, continueHere, seeHomes, setAsideMoved, supersedeAway } from "./homes.ts";
import type { Lifecycle, RunningSandbox } from "./index.ts";
import { createLeases, renewWhile } from "./lease.ts";
import {
  defaultDeadlines,
  type HeldSandbox,
  type LifecycleContext,
  type LifecycleOptions,
} from "./lifecycle-context.ts";
import { createPhaseReporter, type ReportPhase } from "./phase-reporter.ts";
import { refreshConfig } from "./refresh-agent-config.ts";
import { createSharedWakes, orAborted } from "./shared-wakes.ts";
import { createTransitionLock } from "./transition-lock.ts";
import { wakeSandbox } from "./wake-sandbox.ts";
import { watchSandbox } from "./watch-sandbox.ts";

/**
 * Which sandboxes run under leases of this process. A sandbox comes in by a wake or by adoption, is watched
 * while it is held, and leaves when it is lost, superseded or let go of; its signal is aborted then.
 */
export function createLifecycle({ deadlines, ...options }: LifecycleOptions): Lifecycle {
  const { database, homeId, home } = options;
  const leases = createLeases({ database, instance: randomUUID(), homeId, home: home.id });
  const context: LifecycleContext = { ...options, leases, deadlines: { ...defaultDeadlines, ...deadlines } };
  const { logger } = context;
  const held = new Map<string, HeldSandbox>();
  /** Which sessions were found to belong to a held sandbox: fixed at their first use, so it need not be asked again. */
  const assigned = new Map<string, { userId: string; sandboxId: string }>();
  const wakes = createSharedWakes();
  const stopping = new AbortController();
  const background = new Set<Promise<void>>();
  const transitions = createTransitionLock();
  let closing: Promise<void> | undefined;

  function inBackground(task: Promise<void>, what: string): void {
    const guarded = task
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) logger.error({ err: error }, what);
      })
      .finally(() => background.delete(guarded));
    background.add(guarded);
  }

  function hold(sandbox: HeldSandbox): HeldSandbox {
    held.set(sandbox.lease.sandboxId, sandbox);
    const watching = watchSandbox(context, sandbox).then((cause) => (cause ? lose(sandbox, cause) : undefined));
    inBackground(watching, "A sandbox is no longer being watched");
    return sandbox;
  }

  function letGo(sandbox: HeldSandbox, cause: string): boolean {
    if (held.get(sandbox.lease.sandboxId) !== sandbox) return false;
    held.delete(sandbox.lease.sandboxId);
    for (const [sessionId, { sandboxId }] of assigned) {
      if (sandboxId === sandbox.lease.sandboxId) assigned.delete(sessionId);
    }
    sandbox.lost.abort(new AppError("unavailable", cause));
    return true;
  }

  /** Whatever is left of it is ended, so that the next wake finds nothing beside it. */
  function lose(sandbox: HeldSandbox, cause: string): Promise<void> {
    const { sandboxId } = sandbox.lease;
    if (!letGo(sandbox, cause)) return transitions.ended(sandboxId);
    logger.warn({ sandboxId }, cause);
    // Nothing answered, perhaps because this process itself stood still: then another one runs it by now, and it stays.
    const changes = { observedState: "failed", stateCause: cause } as const;
    return transitions
      .run(sandboxId, async () => void (await endSandbox(context, { ...sandbox, changes })))
      .catch((error: unknown) => logger.error({ err: error, sandboxId }, "A lost sandbox could not be cleaned up"));
  }

  const isOurs = (sandboxId: string) => held.has(sandboxId) || transitions.has(sandboxId) || wakes.isWaking(sandboxId);

  /** A wake must not come between the lease and the hold: it would end what is just being kept. */
  const takeOver: TakeOver = async (sandboxId, adopt) => {
    if (isOurs(sandboxId)) return null;
    return transitions.run(sandboxId, async () => {
      const sandbox = await adopt();
      if (!stopping.signal.aborted) return sandbox && hold(sandbox);
      if (sandbox) await leases.release(sandbox.lease);
      return null;
    });
  };

  /** Held by this process, also when it takes over only now what a gone server left. */
  async function findHeld(sandboxId: string, actor: Actor, signal: AbortSignal): Promise<HeldSandbox | null> {
    await orAborted(transitions.ended(sandboxId), signal);
    if (!isOurs(sandboxId)) {
      const adopting = adoptBeforeWake(context, { actor, sandboxId, takeOver, signal: stopping.signal });
      await orAborted(adopting, signal);
      // Another one may have come first.
      await orAborted(transitions.ended(sandboxId), signal);
    }
    return held.get(sandboxId) ?? null;
  }

  /** What nobody here runs: over, or out of reach. */
  async function requireOver(sandboxId: string, actor: Actor, signal: AbortSignal): Promise<void> {
    const [row] = await context.database.transaction(actor, (tx) =>
      tx.select().from(sandboxes).where(eq(sandboxes.id, sandboxId)),
    );
    if (row?.observedState !== "running") return;
    const { leaseOwner, leaseExpiresAt } = row;
    if (leaseOwner && leaseExpiresAt && leaseExpiresAt > new Date() && !leases.isOwn(leaseOwner)) throw heldElsewhere();
    const report = await context.backends.find(row.backend)?.report(sandboxId, row.address, signal);
    if (report !== "gone") throw faultError("sandbox-away");
  }

  async function wake(sandboxId: string, actor: Actor, reportPhase: ReportPhase): Promise<HeldSandbox> {
    await transitions.ended(sandboxId);
    stopping.signal.throwIfAborted();
    const known = held.get(sandboxId);
    if (known) return known;
    const taken = await leases.take(actor, sandboxId);
    if (!taken) throw heldElsewhere();
    try {
      const waking = { ...taken, reportPhase, signal: stopping.signal };
      return hold(await renewWhile(context, taken.lease, () => wakeSandbox(context, waking)));
    } catch (error) {
      await leases.release(taken.lease).catch(() => {});
      throw error;
    }
  }

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
        [...held.values()].map(async (sandbox) => {
          if (!(await leases.renew(sandbox.lease))) letGo(sandbox, "Another server has taken over this sandbox.");
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
    await Promise.all([renewals.stop(), takeovers.stop(), seeing.stop()]);
    await wakes.ended();
    const ends = [...held.values()].map(async (sandbox) => {
      letGo(sandbox, "The server is stopping.");
      if (!terminate) return leases.release(sandbox.lease);
      const changes = { wantedState: "sleeping", observedState: "sleeping", stateCause: null } as const;
      // Sooner than elsewhere: the whole end of the server is bounded.
      const terminateMilliseconds = context.deadlines.terminateMilliseconds - 3_000;
      await endSandbox(context, { ...sandbox, changes, terminateMilliseconds });
    });
    for (const outcome of await Promise.allSettled(ends)) {
      if (outcome.status === "rejected") logger.error({ err: outcome.reason }, "A sandbox could not be released");
    }
    await Promise.all(background);
  }

  return {
    async ensureRunning({ actor, sessionId, look, onPhase, signal }) {
      const sandboxId = await findOrAssign(actor, sessionId, signal);
      const reporter = createPhaseReporter(onPhase);
      const running = held.get(sandboxId) ?? (await findHeld(sandboxId, actor, signal));
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
        await orAborted(lose(running, causes["sandbox-ended"].message), signal);
      }
      const begin = (reportPhase: ReportPhase) => wake(sandboxId, actor, reportPhase);
      const woken = await wakes.join({ sandboxId, begin, listener: onPhase, signal });
      if (held.get(sandboxId) === woken) assigned.set(sessionId, { userId: actor.userId, sandboxId });
      return expose(woken);
    },
    lookAhead({ actor, sessionId }) {
      const known = assigned.get(sessionId);
      const sandbox = known?.userId === actor.userId ? held.get(known.sandboxId) : undefined;
      if (!sandbox) return null;
      return beginLook(context, sandbox, { sandbox: expose(sandbox), signal: stopping.signal });
    },
    async findOrTakeOver({ actor, sandboxId, signal }) {
      const running = held.get(sandboxId) ?? (await findHeld(sandboxId, actor, signal));
      if (running) return expose(running);
      await requireOver(sandboxId, actor, signal);
      return null;
    },
    isOwnLease: leases.isOwn,
    isReachable: (of) => of === null || of === home.id,
    continueHere: (input) => continueHere(context, input),
    supersedeAway: (input) => supersedeAway(context, input),
    findRunning(sandboxId) {
      const sandbox = held.get(sandboxId);
      return sandbox ? expose(sandbox) : null;
    },
    listRunning: () => [...held.values()].map((sandbox) => ({ ...expose(sandbox), actor: sandbox.lease.actor })),
    applyModels(tenantId) {
      for (const sandbox of held.values()) {
        if (sandbox.lease.actor.tenantId !== tenantId) continue;
        inBackground(refresh(sandbox), "An agent could not be restarted with the changed models");
      }
    },
    turnEnded(sandboxId) {
      const sandbox = held.get(sandboxId);
      if (!sandbox?.configIsStale) return;
      inBackground(refresh(sandbox), "An agent could not be restarted with the changed models");
    },
    async adopt(signal) {
      await seeing.runNow();
      seeing.start();
      await claimSandboxes(context, signal);
      await setAsideMoved(context, signal);
      const adopted = await adoptAll(context, { takeOver, signal: AbortSignal.any([signal, stopping.signal]) });
      takeovers.start();
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
