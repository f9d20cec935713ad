import { setTimeout as pause } from "node:timers/promises";
import { eq, sql } from "drizzle-orm";
import { sandboxes as table } from "../../db/schema/index.ts";
import { AppError, isAppError, isRefused } from "../errors.ts";
import { causes } from "../protocol/causes.ts";
import type { OperationReason } from "../protocol/lifecycle-verbs.ts";
import { findBusy } from "./busy.ts";
import { endSandbox } from "./end-sandbox.ts";
import { type Freeze, freeze } from "./freeze.ts";
import type { HeldSandboxes } from "./held-sandboxes.ts";
import { type ArchiveRound, type HeldSandbox, type LifecycleContext, toOwned } from "./lifecycle-context.ts";
import { beginOperation, type Operation } from "./operation.ts";

/** A sleep that somebody may still call off. */
export interface FallingAsleep {
  /** Resolves once the sandbox is awake as before, or, where that was decided, asleep. */
  callOff(cause: string): Promise<void>;
}

/**
 * Frozen → archived → decided → ended. Until the decision is written, whoever needs the sandbox calls it off, and
 * whatever fails leaves it awake, with the cause on the operation. True when it sleeps.
 */
export async function sleepSandbox(
  context: LifecycleContext,
  sandboxes: HeldSandboxes,
  held: HeldSandbox,
  { reason, signal }: { reason: OperationReason; signal: AbortSignal },
): Promise<boolean> {
  const callingOff = new AbortController();
  const over = Promise.withResolvers<void>();
  held.sleep = {
    callOff(cause) {
      callingOff.abort(calledOff(cause));
      return over.promise;
    },
  };
  try {
    // Beside no restart of the agent.
    const decided = await held.serial.run(() => prepare(context, held, { reason, signal, given: callingOff.signal }));
    if (!decided) return false;
    sandboxes.letGo(held, "The sandbox has fallen asleep.");
    await sandboxes.change(held.lease.sandboxId, () => finishSleep(context, held, decided));
    return true;
  } finally {
    held.sleep = null;
    over.resolve();
  }
}

/** As far as the decision. Null: it stays awake. */
async function prepare(
  context: LifecycleContext,
  held: HeldSandbox,
  { reason, signal, given }: { reason: OperationReason; signal: AbortSignal; given: AbortSignal },
): Promise<Operation<"sleep"> | null> {
  const { leases, deadlines, archives } = context;
  const { lease, sidecar } = held;
  const begin = { verb: "sleep", reason, deadlineMilliseconds: deadlines.sleepMilliseconds } as const;
  const operation = await beginOperation(leases, lease, begin);
  const late = AbortSignal.timeout(deadlines.sleepMilliseconds);
  const bounded = AbortSignal.any([signal, given, held.lost.signal, late]);
  let frozen: Freeze | null = null;
  try {
    const busy = await context.database.transaction(lease.actor, (tx) => findBusy(tx, lease.sandboxId));
    if (busy) throw calledOff(busy);
    frozen = await freeze(sidecar, bounded);
    await operation.phase("archiving");
    const round = await archives.archiveSandbox(toOwned(held), { signal: bounded });
    requireSaved(round);
    if (!(await frozen.holds(bounded)))
      throw new AppError("unavailable", "The agent kept working while it was being archived.");
    const refused = await operation.phaseIf("terminating", async (tx) => {
      given.throwIfAborted();
      // Against every way in which a turn comes in.
      await tx.execute(sql`select from sandboxes where id = ${lease.sandboxId} for update`);
      const busyNow = await findBusy(tx, lease.sandboxId);
      if (!busyNow) await tx.update(table).set({ wantedState: "sleeping" }).where(eq(table.id, lease.sandboxId));
      return busyNow;
    });
    if (refused) throw calledOff(refused);
    frozen.leave();
    held.failedSleeps = 0;
    return operation;
  } catch (error) {
    await frozen?.thaw();
    if (isRefused(error, "lease-superseded") || held.lost.signal.aborted) return null;
    await recordAwake(context, held, { operation, error: late.aborted && !given.aborted ? tooLate(error) : error });
    return null;
  }
}

/** Why it is still awake, and, after a failure, not again before a pause that grows. */
async function recordAwake(
  context: LifecycleContext,
  held: HeldSandbox,
  { operation, error }: { operation: Operation<"sleep">; error: unknown },
): Promise<void> {
  const { lease } = held;
  // Whoever cancelled it has said why.
  const over = (failure: unknown) => {
    if (!isRefused(failure)) throw failure;
  };
  if (isRefused(error, "operation-over")) return operation.cancel(messageOf(error)).catch(over);
  context.logger.warn(
    { err: error, sandboxId: lease.sandboxId },
    "A sandbox stays awake: it could not be put to sleep",
  );
  await operation.fail(messageOf(error)).catch(over);
  held.failedSleeps += 1;
  const minutes = Math.min(2 ** (held.failedSleeps - 1) * 5, maxPauseMinutes);
  await context.leases.update(lease, { noSleepBefore: new Date(Date.now() + minutes * 60_000) }).catch(over);
}

const maxPauseMinutes = 240;
const endTries = 3;
const endPauseMilliseconds = 2_000;

/** Decided: there is no way back. What cannot be ended now is ended by the next holder. */
export async function finishSleep(
  context: LifecycleContext,
  held: Pick<HeldSandbox, "lease" | "backend"> & { address: HeldSandbox["address"] | null },
  operation: Operation<"sleep">,
  unsavedSince: Date | null = null,
): Promise<void> {
  const changes = { wantedState: "sleeping", observedState: "sleeping", stateCause: null, unsavedSince } as const;
  for (let tries = 1; ; tries += 1) {
    try {
      await endSandbox(context, { ...held, changes, andWrite: () => operation.succeed() });
      return;
    } catch (error) {
      if (isRefused(error)) return;
      if (tries === endTries) {
        await context.leases.release(held.lease);
        throw error;
      }
      await pause(endPauseMilliseconds, undefined, { ref: false });
    }
  }
}

/**
 * The server is told to stop: nobody is waited for, and what cannot be archived in the time there is stays on the
 * disk, and is said to be there only (ARCHITECTURE.md, invariant 9).
 */
export async function sleepAtStop(context: LifecycleContext, held: HeldSandbox): Promise<void> {
  const { leases, deadlines, logger } = context;
  const { lease, sidecar } = held;
  const operation = await beginOperation(leases, lease, {
    verb: "sleep",
    reason: "server-stopped",
    deadlineMilliseconds: deadlines.stopArchiveMilliseconds + deadlines.terminateMilliseconds,
  });
  const late = AbortSignal.timeout(deadlines.stopArchiveMilliseconds);
  let unsavedSince: Date | null = null;
  try {
    const frozen = await freeze(sidecar, late);
    await operation.phase("archiving");
    const round = await context.archives.archiveSandbox(toOwned(held, late), { signal: late });
    frozen.leave();
    unsavedSince = sinceWhen(round);
  } catch (error) {
    if (isRefused(error)) throw error;
    unsavedSince = await context.archives.savedUntil(toOwned(held, late));
    logger.warn({ err: error, sandboxId: lease.sandboxId }, "A sandbox was not archived before the server stopped");
  }
  await operation.phase("terminating");
  await leases.update(lease, { wantedState: "sleeping" });
  await finishSleep(context, held, operation, unsavedSince);
}

function requireSaved({ failures }: ArchiveRound): void {
  const [failure] = failures;
  if (!failure) return;
  const more = failures.length > 1 ? ` (and ${failures.length - 1} more)` : "";
  throw new AppError("unavailable", `It could not be archived, so it stays awake: ${failure.cause}${more}`);
}

function sinceWhen({ failures }: ArchiveRound): Date | null {
  const times = failures.map(({ savedAt }) => savedAt.getTime());
  return times.length > 0 ? new Date(Math.min(...times)) : null;
}

function calledOff(cause: string): AppError {
  return new AppError("conflict", cause, { refusal: "operation-over" });
}

function tooLate(error: unknown): AppError {
  return new AppError("timeout", "Archiving took too long, so the sandbox stays awake.", { cause: error });
}

function messageOf(error: unknown): string {
  return isAppError(error) ? error.message : causes.internal.message;
}
