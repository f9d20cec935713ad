import { failureOfError } from "../agent/index.ts";
import { AppError, isAppError, isRefused } from "../errors.ts";
import type { RunningSandbox } from "../lifecycle/index.ts";
import { withoutAdvice } from "../protocol/causes.ts";
import type { LogWriter } from "../sessions/index.ts";
import { driveTurn } from "./drive-turn.ts";
import { endHeardTurn } from "./end-heard-turn.ts";
import { mayPass } from "./may-pass.ts";
import { failed, stopped, type TurnContext, type TurnEnding, type TurnJob } from "./turn-context.ts";
import { isToWait, nextTry, planTry } from "./turn-tries.ts";

/**
 * One turn from its prompt to its end, or from where a gone process left it. It ends exactly once
 * (ARCHITECTURE.md, invariant 14), except when the server ends or another one takes over: then it is left to them.
 * What keeps it from the agent and may pass is waited for, and tried again as after a takeover.
 */
export async function runTurn(context: TurnContext, job: TurnJob): Promise<void> {
  for (;;) {
    const due = await tryTurn(context, job);
    if (!due || !(await nextTry(context, job, due))) return;
  }
}

/** Null when the turn is over, or no longer ours; else it waits until then. */
async function tryTurn(context: TurnContext, job: TurnJob): Promise<Date | null> {
  const { log, lifecycle } = context;
  const { actor, turn } = job;
  const { sessionId } = turn;
  const nobody = { sandboxId: null, leaseEpoch: 0, bootId: null };
  const opening = { actor, sessionId, turnId: turn.id };
  let writer = await log.openWriter({ ...opening, ...nobody, fresh: true, begun: job.begun });
  let sandbox: RunningSandbox | null = null;
  // The wake need not wait for the prompt to be stored; what it says does.
  const prompt = turn.kind === "prompt" ? turn.prompt : null;
  const isToBegin = !job.isResumed && !job.begun;
  const begun = isToBegin ? writer.beginTurn({ prompt, revision: turn.revision }) : Promise.resolve();
  begun.catch(() => {});
  turn.startedAt ??= new Date();
  if (isToBegin) job.preflight.store(job, begun);

  /** With all that the turn has in the log; under the lease it is certain that nobody else still writes. */
  async function openAgain(held: RunningSandbox | null): Promise<LogWriter> {
    // One that failed has said so to whoever called it.
    await writer.close().catch(() => {});
    writer = await log.openWriter({ ...opening, ...(held ? leaseOf(held) : nobody) });
    return writer;
  }

  try {
    const attend = async () => {
      if (turn.leftBehind) return { ...leftBehind, usage: null };
      job.stop.throwIfAborted();
      sandbox = await wake(context, job, { writer, begun });
      await begun;
      const signal = AbortSignal.any([job.stop, job.closing, sandbox.signal]);
      if (turn.abortUnconfirmed) await context.aborts.settled({ actor, sessionId, sandbox, signal });
      if (job.isResumed) await openAgain(sandbox);
      else writer.hold(leaseOf(sandbox));
      return driveTurn(context, job, { sandbox, writer });
    };
    const end = await attend().catch(async (error: unknown) => {
      if (job.closing.aborted || isRefused(error)) throw error;
      if (isToWait(context, job, error)) return { waitsFor: error };
      const ending = endingOf(context, error, job);
      if (job.heard === "no") return { ...ending, usage: null };
      await begun;
      return endHeardTurn(context, job, { sandbox, openAgain, ending });
    });
    await begun;
    if ("waitsFor" in end) {
      const due = planTry(context, job);
      await sayWhyItWaits({ error: end.waitsFor, due });
      return due;
    }
    // What an earlier try or process left open is closed too, though nothing is awake.
    if (job.isResumed && !sandbox && (job.heard === "no" || turn.leftBehind)) await openAgain(null);
    await writer.endTurn(end);
    if (end.untold && sandbox) context.aborts.look({ actor, sessionId, sandbox });
  } catch (error) {
    if (!job.closing.aborted && !isRefused(error)) throw error;
  } finally {
    await writer.close().catch((error: unknown) => {
      if (!isRefused(error)) context.logger.error({ err: error, turnId: turn.id }, "A turn's log was not flushed");
    });
    if (sandbox) lifecycle.turnEnded((sandbox as RunningSandbox).sandboxId);
  }
  return null;

  /** Where it cannot be stored, that is what it waits for. */
  async function sayWhyItWaits({ error, due }: { error: unknown; due: Date }): Promise<void> {
    try {
      const { code, message } = failureOfError(error);
      context.logger.warn({ err: error, turnId: turn.id }, "A turn could not be handed to the agent yet");
      await openAgain(sandbox);
      await writer.waitTurn({ code, message: withoutAdvice(message), nextTryAt: due, tries: turn.tries });
    } catch (problem) {
      if (job.closing.aborted || isRefused(problem)) throw problem;
      context.logger.warn({ err: problem, turnId: turn.id }, "It could not be stored why a turn waits");
    }
  }
}

/** Its agent may have done all of it where nobody can look now: beginning it anew could do things twice. */
const leftBehind = failed(
  "left-behind",
  "This turn ran on another machine, and the session was continued here without it. What it did after the newest snapshot is not here. Send the message again if it is still needed.",
);

async function wake(
  context: TurnContext,
  job: TurnJob,
  { writer, begun }: { writer: LogWriter; begun: Promise<unknown> },
): Promise<RunningSandbox> {
  const { actor, turn } = job;
  // Viewers already know a sandbox that only had to be looked at.
  let isNews = turn.sandboxId === null;
  try {
    return await context.lifecycle.ensureRunning({
      actor,
      sessionId: turn.sessionId,
      look: job.preflight.look,
      onPhase: async (phase) => {
        isNews = true;
        await begun;
        // The phases of one try are enough, and why it failed is said by what follows.
        if (turn.tries === 0 && phase.phase !== "failed") await writer.add("sandbox-phase", phase);
        await context.log.notifyViewers(turn.sessionId);
      },
      signal: AbortSignal.any([job.stop, job.closing]),
    });
  } catch (error) {
    if (job.stop.aborted || job.closing.aborted || !isAppError(error)) throw error;
    if (isRefused(error)) throw error;
    const { kind, message, fault, requestId, code = "wake-failed" } = error;
    if (!mayPass(error)) await writer.add("sandbox-phase", { phase: "failed", message });
    throw new AppError(kind, message, { cause: error, code, fault, requestId });
  } finally {
    if (isNews) await context.log.notifyViewers(turn.sessionId);
  }
}

function leaseOf({ sandboxId, leaseEpoch, sidecar }: RunningSandbox) {
  return { sandboxId, leaseEpoch, bootId: sidecar.bootId };
}

function endingOf(context: TurnContext, error: unknown, job: TurnJob): TurnEnding {
  if (job.stop.aborted) return stopped;
  // What is said leaves out what only an admin can use.
  context.logger.warn({ err: error, turnId: job.turn.id }, "A turn failed");
  const { code, message, requestId } = failureOfError(error);
  return failed(code, message, requestId);
}
