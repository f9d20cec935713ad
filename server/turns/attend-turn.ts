import { createTranslator, type Translator } from "../agent/index.ts";
import { isAppError } from "../errors.ts";
import type { RunningSandbox } from "../lifecycle/index.ts";
import type { LogWriter, TurnEnd } from "../sessions/index.ts";
import type { AgentConnection } from "./agent-connections.ts";
import { createAskDesk } from "./ask-desk.ts";
import { createJoinDesk, type JoinDesk } from "./join-desk.ts";
import { listenToTurn } from "./listen-turn.ts";
import { type Placement, placeSession } from "./place-session.ts";
import { revertTurn } from "./revert-turn.ts";
import { sumUsage } from "./sum-usage.ts";
import { takeUpCompaction } from "./take-up-compaction.ts";
import { takeUpTurn } from "./take-up-turn.ts";
import type { TurnContext, TurnEnding, TurnJob } from "./turn-context.ts";
import { createTurnWatch } from "./turn-watch.ts";

export interface Attended {
  context: TurnContext;
  job: TurnJob;
  sandbox: RunningSandbox;
  writer: LogWriter;
  connection: AgentConnection;
  directory: string;
  agentSessionId: string;
  joins: JoinDesk;
  replaced: Placement["replaced"];
}

/** Prompts the agent, or goes on listening to it, until the turn is over. Resolves with how it ended. */
export async function attendTurn(
  context: TurnContext,
  job: TurnJob,
  { sandbox, writer }: { sandbox: RunningSandbox; writer: LogWriter },
): Promise<TurnEnd> {
  const connection = context.agents.get(sandbox);
  const place = async (): Promise<Attended> => {
    const placed = await placeSession(context, job, { sandbox, writer, connection });
    const unjoined = { context, job, sandbox, writer, connection, ...placed };
    return { ...unjoined, joins: createJoinDesk(unjoined) };
  };
  let attended = await place();
  const { kind } = job.turn;
  if (kind === "undo" || kind === "redo") return revertTurn(attended);
  const takeUp = kind === "compact" ? takeUpCompaction : takeUpTurn;
  const taken = await takeUp(attended).catch(async (error: unknown) => {
    if (!isAppError(error) || error.kind !== "not-found") throw error;
    // The agent lost what was known to be in place: it is asked, once more.
    connection.placed.delete(job.turn.sessionId);
    attended = await place();
    return takeUp(attended);
  });
  const translator = createTranslator(taken.state);
  if (taken.ending) return withUsage(attended, translator, taken.ending);

  const { joins } = attended;
  const asks = createAskDesk(attended, translator);
  const watch = createTurnWatch(attended, { close: () => taken.events.close(), isAsking: () => asks.pending > 0 });
  const poll = () => {
    asks.poll().catch((error: unknown) => {
      if (job.closing.aborted || sandbox.signal.aborted) return;
      context.logger.warn({ err: error, turnId: job.turn.id }, "What the agent asks could not be looked for");
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
    const ending = await listenToTurn(attended, {
      events: taken.events,
      isIdle: taken.isIdle ?? false,
      translator,
      asks,
      watch,
    });
    return withUsage(attended, translator, ending);
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

function withUsage({ job }: Attended, { state }: Translator, ending: TurnEnding): TurnEnd {
  return { ...ending, usage: sumUsage([...state.steps.values()], job.turn.startedAt ?? new Date()) };
}
