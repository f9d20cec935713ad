import { createTranslator, restoreState } from "../agent/index.ts";
import { isRefused } from "../errors.ts";
import type { RunningSandbox } from "../lifecycle/index.ts";
import type { LogWriter, TurnEnd } from "../sessions/index.ts";
import { withUsage } from "./drive-turn.ts";
import { endInAnyCase } from "./settle-turn.ts";
import type { TurnContext, TurnEnding, TurnJob } from "./turn-context.ts";

/**
 * Ends a turn whose prompt the agent may have, though nobody listens to it here: it was stopped while its server was
 * dead, or while it was being sent. The agent is told to stop first, and what it has said is taken over; where
 * nothing runs any more there is nothing to tell.
 */
export async function endHeardTurn(
  context: TurnContext,
  job: TurnJob,
  input: {
    sandbox: RunningSandbox | null;
    /** A writer with what the turn has in the log so far. */
    openAgain(sandbox: RunningSandbox | null): Promise<LogWriter>;
    ending: TurnEnding;
  },
): Promise<TurnEnd> {
  const { actor, turn } = job;
  const { openAgain, ending } = input;
  const sandbox = input.sandbox ?? (await findSandbox(context, job));
  const isOver = sandbox === null || (sandbox !== "unreachable" && sandbox.signal.aborted);
  const { agentSessionId, agentDirectory: directory, agentMessageId: userMessageId } = turn;
  if (isOver || !agentSessionId || !directory) {
    await openAgain(null);
    return { ...ending, usage: null };
  }
  if (sandbox === "unreachable") {
    await openAgain(null);
    return { ...ending, untold: true, usage: null };
  }
  const writer = await openAgain(sandbox);
  const entries = await context.log.readTurn({ actor, sessionId: turn.sessionId, turnId: turn.id });
  const { title, appliedEvent } = turn;
  const state = restoreState({
    root: agentSessionId,
    userMessageId: userMessageId ?? "",
    title,
    appliedEvent,
    entries,
  });
  const translator = createTranslator(state);
  const connection = context.agents.get(sandbox);
  const driven = { context, job, sandbox, writer, connection, agentSessionId, directory };
  return withUsage(driven, translator, await endInAnyCase(driven, translator, ending));
}

async function findSandbox(
  { lifecycle, limits, logger }: TurnContext,
  { actor, turn, closing }: TurnJob,
): Promise<RunningSandbox | "unreachable" | null> {
  const { sandboxId } = turn;
  if (sandboxId === null) return null;
  const signal = AbortSignal.any([closing, AbortSignal.timeout(limits.stopMilliseconds)]);
  try {
    return await lifecycle.findOrTakeOver({ actor, sandboxId, signal });
  } catch (error) {
    closing.throwIfAborted();
    if (isRefused(error)) throw error;
    logger.warn({ err: error, turnId: turn.id }, "The sandbox of a turn could not be reached to stop it");
    return "unreachable";
  }
}
