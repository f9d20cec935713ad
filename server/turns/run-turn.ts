import { failureOfError } from "../agent/index.ts";
import { AppError, isAppError, isRefused } from "../errors.ts";
import type { RunningSandbox } from "../lifecycle/index.ts";
import type { LogWriter } from "../sessions/index.ts";
import { driveTurn } from "./drive-turn.ts";
import { failed, stopped, type TurnContext, type TurnEnding, type TurnJob } from "./turn-context.ts";

/**
 * One turn from its prompt to its end, or from where a gone process left it. It ends exactly once
 * (ARCHITECTURE.md, invariant 14), except when the server ends or another one takes over: then it is left to them.
 */
export async function runTurn(context: TurnContext, job: TurnJob): Promise<void> {
  const { log, lifecycle } = context;
  const { actor, turn } = job;
  const nobody = { sandboxId: null, leaseEpoch: 0, bootId: null };
  const opening = { actor, sessionId: turn.sessionId, turnId: turn.id };
  let writer = await log.openWriter({ ...opening, ...nobody, fresh: true, begun: job.begun });
  let sandbox: RunningSandbox | null = null;
  // The wake need not wait for the prompt to be stored; what it says does.
  const prompt = turn.kind === "prompt" ? turn.prompt : null;
  const isToBegin = !job.isResumed && !job.begun;
  const begun = isToBegin ? writer.beginTurn({ prompt, revision: turn.revision }) : Promise.resolve();
  begun.catch(() => {});
  turn.startedAt ??= new Date();
  if (isToBegin) job.preflight.store(job, begun);
  try {
    const attend = async () => {
      if (turn.leftBehind) return { ...leftBehind, usage: null };
      job.stop.throwIfAborted();
      sandbox = await wake(context, job, { writer, begun });
      await begun;
      const { sandboxId, leaseEpoch, sidecar } = sandbox;
      const held = { sandboxId, leaseEpoch, bootId: sidecar.bootId };
      if (!job.isResumed) writer.hold(held);
      else {
        // Only under the lease is it certain that nobody else still writes what is read here.
        await writer.close();
        writer = await log.openWriter({ ...opening, ...held });
      }
      return driveTurn(context, job, { sandbox, writer });
    };
    const end = await attend().catch((error: unknown) => {
      if (job.closing.aborted || isRefused(error)) throw error;
      return { ...endingOf(context, error, job), usage: null };
    });
    await begun;
    if (job.isResumed && !sandbox) {
      // What an earlier process left open is closed too, though nothing is awake.
      await writer.close();
      writer = await log.openWriter({ ...opening, ...nobody });
    }
    await writer.endTurn(end);
  } catch (error) {
    if (!job.closing.aborted && !isRefused(error)) throw error;
  } finally {
    await writer.close().catch((error: unknown) => {
      if (!isRefused(error)) context.logger.error({ err: error, turnId: turn.id }, "A turn's log was not flushed");
    });
    if (sandbox) lifecycle.turnEnded((sandbox as RunningSandbox).sandboxId);
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
        await writer.add("sandbox-phase", phase);
        await context.log.notifyViewers(turn.sessionId);
      },
      signal: AbortSignal.any([job.stop, job.closing]),
    });
  } catch (error) {
    if (job.stop.aborted || job.closing.aborted || !isAppError(error)) throw error;
    if (isRefused(error)) throw error;
    const { kind, message, fault, requestId } = error;
    throw new AppError(kind, message, { cause: error, code: "wake-failed", fault, requestId });
  } finally {
    if (isNews) await context.log.notifyViewers(turn.sessionId);
  }
}

function endingOf(context: TurnContext, error: unknown, job: TurnJob): TurnEnding {
  if (job.stop.aborted) return stopped;
  // What is said leaves out what only an admin can use.
  context.logger.warn({ err: error, turnId: job.turn.id }, "A turn failed");
  const { code, message, requestId } = failureOfError(error);
  return failed(code, message, requestId);
}
