import { randomUUID } from "node:crypto";
import { AppError } from "../errors.ts";
import { createLoop } from "../lib/loop.ts";
import { adoptAll, adoptLapsed } from "./adopt-all.ts";
import { refreshConfig } from "./agent-config.ts";
import { assignSandbox } from "./assign-sandbox.ts";
import type { Lifecycle, RunningSandbox, WakePhase } from "./index.ts";
import { createLeases } from "./lease.ts";
import {
  defaultDeadlines,
  type HeldSandbox,
  type LifecycleContext,
  type LifecycleOptions,
} from "./lifecycle-context.ts";
import { beginLook, makeFit } from "./make-fit.ts";
import { createSharedWakes, createVoice } from "./shared-wakes.ts";
import { wakeSandbox } from "./wake-sandbox.ts";
import { watchSandbox } from "./watch-sandbox.ts";

/**
 * Which sandboxes run under leases of this process. A sandbox comes in by a wake or by adoption, is watched
 * while it is held, and leaves when it is lost, superseded or let go of; its signal is aborted then.
 */
export function createLifecycle({ deadlines, ...options }: LifecycleOptions): Lifecycle {
  const leases = createLeases({ database: options.database, instance: randomUUID(), place: options.place });
  const context: LifecycleContext = { ...options, leases, deadlines: { ...defaultDeadlines, ...deadlines } };
  const { backend, logger } = context;
  const held = new Map<string, HeldSandbox>();
  /** Which sessions were found to belong to a held sandbox: fixed at their first use, so it need not be asked again. */
  const assigned = new Map<string, { userId: string; sandboxId: string }>();
  const wakes = createSharedWakes();
  const stopping = new AbortController();
  const background = new Set<Promise<void>>();
  /** Sandboxes that are being ended: a wake waits for it, or it would be ended with what was before it. */
  const endings = new Map<string, Promise<void>>();
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
    inBackground(watching, "A sandbox is not watched any more");
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
    if (!letGo(sandbox, cause)) return endings.get(sandboxId) ?? Promise.resolve();
    logger.warn({ sandboxId }, cause);
    const ending = endLost(sandbox, cause)
      .catch((error: unknown) => logger.error({ err: error, sandboxId }, "A lost sandbox could not be settled"))
      .finally(() => endings.delete(sandboxId));
    endings.set(sandboxId, ending);
    return ending;
  }

  async function endLost({ lease }: HeldSandbox, cause: string): Promise<void> {
    // Nothing answered, perhaps because this process itself stood still: then another one runs it by now.
    if (!(await leases.renew(lease))) return;
    await backend.terminate(lease.sandboxId, null, AbortSignal.timeout(context.deadlines.terminateMilliseconds));
    await leases.update(lease, { observedState: "failed", stateCause: cause });
    await leases.release(lease);
  }

  async function wake(sandboxId: string, actor: HeldSandbox["lease"]["actor"], say: (phase: WakePhase) => void) {
    await endings.get(sandboxId);
    stopping.signal.throwIfAborted();
    const taken = await leases.take(actor, sandboxId);
    if (!taken) throw heldElsewhere();
    const renewing = setInterval(
      () => void leases.renew(taken.lease).catch(() => {}),
      context.deadlines.renewEveryMilliseconds,
    );
    try {
      return hold(await wakeSandbox(context, { ...taken, say, signal: stopping.signal }));
    } catch (error) {
      await leases.release(taken.lease).catch(() => {});
      throw error;
    } finally {
      clearInterval(renewing);
    }
  }

  async function findOrAssign(actor: HeldSandbox["lease"]["actor"], sessionId: string): Promise<string> {
    const known = assigned.get(sessionId);
    if (known?.userId === actor.userId) return known.sandboxId;
    const { database, strongest } = context;
    return assignSandbox({ database, backend: backend.kind, strongest }, actor, sessionId);
  }

  async function refresh(sandbox: HeldSandbox): Promise<void> {
    const quiet = { asking: null, say: () => {}, signal: AbortSignal.any([stopping.signal, sandbox.lost.signal]) };
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
    run: async (signal) => {
      const isOurs = (sandboxId: string) => held.has(sandboxId) || endings.has(sandboxId) || wakes.isWaking(sandboxId);
      for (const sandbox of await adoptLapsed(context, { isOurs, signal })) {
        if (isOurs(sandbox.lease.sandboxId)) continue;
        logger.warn({ sandboxId: sandbox.lease.sandboxId }, "A sandbox whose server is gone was taken over");
        hold(sandbox);
      }
    },
  });

  async function close(terminate: boolean): Promise<void> {
    stopping.abort(new AppError("unavailable", "The server is stopping."));
    await Promise.all([renewals.stop(), takeovers.stop()]);
    await wakes.settled();
    const ends = [...held.values()].map(async (sandbox) => {
      const { lease } = sandbox;
      letGo(sandbox, "The server is stopping.");
      if (terminate && (await leases.renew(lease))) {
        await backend.terminate(
          lease.sandboxId,
          null,
          AbortSignal.timeout(context.deadlines.terminateMilliseconds - 3_000),
        );
        await leases.update(lease, { wantedState: "sleeping", observedState: "sleeping", stateCause: null });
      }
      await leases.release(lease);
    });
    for (const outcome of await Promise.allSettled(ends)) {
      if (outcome.status === "rejected") logger.error({ err: outcome.reason }, "A sandbox could not be let go of");
    }
    await Promise.all(background);
  }

  return {
    async ensureRunning({ actor, sessionId, onPhase, signal }) {
      const sandboxId = await findOrAssign(actor, sessionId);
      const voice = createVoice(onPhase);
      const running = held.get(sandboxId);
      if (running) {
        const fit = await makeFit(context, running, { sessionId, say: voice.say, signal });
        await voice.heard();
        if (fit) {
          assigned.set(sessionId, { userId: actor.userId, sandboxId });
          return expose(running);
        }
        await lose(running, "The sandbox ended unexpectedly.");
      }
      const begin = (say: (phase: WakePhase) => void) => wake(sandboxId, actor, say);
      const woken = await wakes.join({ sandboxId, begin, listener: onPhase, signal });
      if (held.get(sandboxId) === woken) assigned.set(sessionId, { userId: actor.userId, sandboxId });
      return expose(woken);
    },
    lookAhead({ actor, sessionId }) {
      const known = assigned.get(sessionId);
      const sandbox = known?.userId === actor.userId ? held.get(known.sandboxId) : undefined;
      if (!sandbox) return null;
      sandbox.look = beginLook(context, sandbox, stopping.signal);
      return expose(sandbox);
    },
    isOwnLease: leases.isOwn,
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
      const adopted = await adoptAll(context, AbortSignal.any([signal, stopping.signal]));
      for (const sandbox of adopted) hold(sandbox);
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
  const error = new AppError("unavailable", "Another server runs this sandbox at the moment. Try again shortly.");
  return Object.assign(error, { refusal: "lease-elsewhere" });
}

function expose({ lease, sidecar, lost, configHash }: HeldSandbox): RunningSandbox {
  return { sandboxId: lease.sandboxId, leaseEpoch: lease.epoch, sidecar, configHash, signal: lost.signal };
}
