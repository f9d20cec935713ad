import { createTranslator, type Translator } from "../agent/index.ts";
import { isAppError, isRefused } from "../errors.ts";
import type { Fence, RunningSandbox } from "../lifecycle/index.ts";
import type { LogWriter, TurnEnd } from "../sessions/index.ts";
import type { AgentConnection } from "./agent-connections.ts";
import { attachCompaction } from "./attach-compaction.ts";
import { attachTurn } from "./attach-turn.ts";
import { createJoinedPrompts, type JoinedPrompts } from "./joined-prompts.ts";
import { listenToTurn } from "./listen-turn.ts";
import { type AgentSession, openAgentSession } from "./open-agent-session.ts";
import { revertTurn } from "./revert-turn.ts";
import { sumUsage } from "./sum-usage.ts";
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
  /** For what is asked of the agent once it has the prompt: until the sandbox, the server or all patience with a stop ends. */
  signal: AbortSignal;
  fence: Fence;
  joinedPrompts: JoinedPrompts;
  replaced: AgentSession["replaced"];
}

/** Prompts the agent, or goes on listening to it, until the turn is over. Resolves with how it ended. */
export async function driveTurn(
  context: TurnContext,
  job: TurnJob,
  input: { sandbox: RunningSandbox; writer: LogWriter },
): Promise<TurnEnd> {
  const connection = context.agents.get(input.sandbox);
  let end: TurnEnd | null = null;
  try {
    end = await drive(context, job, { ...input, connection });
    return end;
  } finally {
    // What the agent did of it unheard is looked for when the session is opened again.
    if (end?.outcome !== "finished") connection.openedSessions.delete(job.turn.sessionId);
  }
}

async function drive(
  context: TurnContext,
  job: TurnJob,
  { sandbox, writer, connection }: { sandbox: RunningSandbox; writer: LogWriter; connection: AgentConnection },
): Promise<TurnEnd> {
  const fence = { database: context.database, actor: job.actor, lease: sandbox };
  const signal = AbortSignal.any([job.closing, sandbox.signal, job.stopLate]);
  const open = async (): Promise<DrivenTurn> => {
    const session = await openAgentSession(context, job, { sandbox, writer, connection, fence });
    const unjoined = { context, job, sandbox, writer, connection, signal, fence, ...session };
    return { ...unjoined, joinedPrompts: createJoinedPrompts(unjoined) };
  };
  let driven = await open();
  const { kind } = job.turn;
  if (kind === "undo" || kind === "redo") return revertTurn(driven);
  const attach = kind === "compact" ? attachCompaction : attachTurn;
  if (kind === "compact") job.heard = "perhaps";
  const attached = await attach(driven).catch(async (error: unknown) => {
    if (!isAppError(error) || error.kind !== "not-found") throw error;
    // The agent lost what was known to be there: it is asked, once more.
    connection.openedSessions.delete(job.turn.sessionId);
    driven = await open();
    return attach(driven);
  });
  job.heard = "yes";
  if (job.isResumed) await writer.goOn();
  const translator = createTranslator(attached.state);
  if (attached.ending) return withUsage(driven, translator, attached.ending);

  const { joinedPrompts } = driven;
  const turnAsks = createTurnAsks(driven, translator);
  const watch = createTurnWatch(driven, { close: () => attached.events.close(), turnAsks });
  const poll = () => {
    turnAsks.poll().catch((error: unknown) => {
      if (job.closing.aborted || sandbox.signal.aborted || isRefused(error)) return;
      context.logger.warn({ err: error, turnId: job.turn.id }, "The agent's open asks could not be read");
    });
  };
  job.onAnswered = (askId) => turnAsks.answer(askId);
  job.onJoin = () => joinedPrompts.look();
  job.onPoll = poll;
  connection.onConnected.add(poll);
  try {
    if (job.isResumed) {
      await turnAsks.resume();
      poll();
    }
    // Of one that was just sent, the agent's events tell when it is there.
    if (translator.state.messages.has(translator.state.userMessageId)) joinedPrompts.open();
    const ending = await listenToTurn(driven, {
      events: attached.events,
      isIdle: attached.isIdle ?? false,
      translator,
      turnAsks,
      watch,
    });
    return withUsage(driven, translator, ending);
  } finally {
    joinedPrompts.close();
    turnAsks.close();
    connection.onConnected.delete(poll);
    job.onAnswered = null;
    job.onJoin = null;
    job.onPoll = null;
    watch.end();
    attached.events.close();
  }
}

export async function withUsage(
  { context, job }: Pick<DrivenTurn, "context" | "job">,
  { state }: Translator,
  ending: TurnEnding,
): Promise<TurnEnd> {
  const steps = [...state.steps.values()];
  const cost = await context.costs.costOf(job.actor, steps);
  return { ...ending, usage: sumUsage(steps, { startedAt: job.turn.startedAt ?? new Date(), cost }) };
}
