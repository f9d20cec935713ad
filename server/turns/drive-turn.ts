import { createTranslator, type Translator } from "../agent/index.ts";
import { isAppError } from "../errors.ts";
import type { RunningSandbox } from "../lifecycle/index.ts";
import type { LogWriter, TurnEnd } from "../sessions/index.ts";
import type { AgentConnection } from "./agent-connections.ts";
import { createJoinedPrompts, type JoinedPrompts } from "./joined-prompts.ts";
import { listenToTurn } from "./listen-turn.ts";
import { type Placement, placeSession } from "./place-session.ts";
import { revertTurn } from "./revert-turn.ts";
import { sumUsage } from "./sum-usage.ts";
import { takeUpCompaction } from "./take-up-compaction.ts";
import { takeUpTurn } from "./take-up-turn.ts";
import { createTurnAsks } from "./turn-asks.ts";
import type { TurnContext, TurnEnding, TurnJob } from "./turn-context.ts";
import { createTurnWatch } from "./turn-watch.ts";

export interface DrivenTurn {
  context: TurnContext;
  job: TurnJob;
  sandbox: RunningSandbox;
  writer: LogWriter;
  connection: AgentConnection;
  directory: string;
  agentSessionId: string;
  joins: JoinedPrompts;
  replaced: Placement["replaced"];
}

/** Prompts the agent, or goes on listening to it, until the turn is over. Resolves with how it ended. */
export async function driveTurn(
  context: TurnContext,
  job: TurnJob,
  { sandbox, writer }: { sandbox: RunningSandbox; writer: LogWriter },
): Promise<TurnEnd> {
  const connection = context.agents.get(sandbox);
  const place = async (): Promise<DrivenTurn> => {
    const placed = await placeSession(context, job, { sandbox, writer, connection });
    const unjoined = { context, job, sandbox, writer, connection, ...placed };
    return { ...unjoined, joins: createJoinedPrompts(unjoined) };
  };
  let driven = await place();
  const { kind } = job.turn;
  if (kind === "undo" || kind === "redo") return revertTurn(driven);
  const takeUp = kind === "compact" ? takeUpCompaction : takeUpTurn;
  const taken = await takeUp(driven).catch(async (error: unknown) => {
    if (!isAppError(error) || error.kind !== "not-found") throw error;
    // The agent lost what was known to be in place: it is asked, once more.
    connection.placed.delete(job.turn.sessionId);
    driven = await place();
    return takeUp(driven);
  });
  const translator = createTranslator(taken.state);
  if (taken.ending) return withUsage(driven, translator, taken.ending);

  const { joins } = driven;
  const asks = createTurnAsks(driven, translator);
  const watch = createTurnWatch(driven, { close: () => taken.events.close(), isAsking: () => asks.pending > 0 });
  const poll = () => {
    asks.poll().catch((error: unknown) => {
      if (job.closing.aborted || sandbox.signal.aborted) return;
      context.logger.warn({ err: error, turnId: job.turn.id }, "The agent's open asks could not be read");
    });
  };
  job.onAnswered = (askId) => asks.answer(askId);
  job.onJoin = () => joins.look();
  job.onPoll = poll;
  connection.onConnected.add(poll);
  try {
    if (job.turn.state === "running") {
      await asks.takeUp();
      poll();
    }
    joins.look();
    const ending = await listenToTurn(driven, {
      events: taken.events,
      isIdle: taken.isIdle ?? false,
      translator,
      asks,
      watch,
    });
    return withUsage(driven, translator, ending);
  } finally {
    joins.close();
    connection.onConnected.delete(poll);
    job.onAnswered = null;
    job.onJoin = null;
    job.onPoll = null;
    watch.end();
    taken.events.close();
  }
}

function withUsage({ job }: DrivenTurn, { state }: Translator, ending: TurnEnding): TurnEnd {
  return { ...ending, usage: sumUsage([...state.steps.values()], job.turn.startedAt ?? new Date()) };
}
