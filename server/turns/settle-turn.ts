import { setTimeout as sleep } from "node:timers/promises";
import { type AgentMessage, hasId, settle, type Translator, type TranslatorState, tasksOf } from "../agent/index.ts";
import { causes } from "../protocol/causes.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import { endRun } from "./pending-aborts.ts";
import { failed, stopped, type TurnEnding } from "./turn-context.ts";

const maxDepth = 3;
const onItsWayMilliseconds = 1_000;

/** What the agent has stored of a turn: its session's messages, and its subagents', known already or not. */
export async function readMessages(
  driven: Pick<DrivenTurn, "connection" | "agentSessionId">,
  state: TranslatorState,
  signal: AbortSignal,
): Promise<{ messages: AgentMessage[]; children: AgentMessage[] }> {
  const { connection, agentSessionId } = driven;
  const messages = await connection.client.listMessages(agentSessionId, signal, hasId(state.userMessageId));
  return { messages, children: await readChildren(driven, { state, messages, signal }) };
}

async function readChildren(
  { connection }: Pick<DrivenTurn, "connection">,
  { state, messages, signal }: { state: TranslatorState; messages: readonly AgentMessage[]; signal: AbortSignal },
): Promise<AgentMessage[]> {
  const start = messages.findIndex(hasId(state.userMessageId));
  const ours = start < 0 ? [] : messages.slice(start);
  // A subagent may go on from an earlier turn; what it said then is older than our first answer.
  const since = ours.find(({ info }) => info.role === "assistant")?.info.id ?? "";
  const children: AgentMessage[] = [];
  const read = new Set<string>();
  let found = [...new Set([...state.children.keys(), ...tasksOf(ours)])];
  for (let depth = 0; depth < maxDepth && found.length > 0; depth++) {
    for (const child of found) read.add(child);
    const isOlder = ({ info }: AgentMessage) => info.id <= since;
    const lists = await Promise.all(found.map((child) => connection.client.listMessages(child, signal, isOlder)));
    const said = lists.flat().filter((message) => !isOlder(message));
    children.push(...said);
    found = [...new Set(tasksOf(said))].filter((child) => !read.has(child));
  }
  return children;
}

/**
 * The final state is the agent's own list. `unfinished` while its last message is not complete,
 * `unanswered` when somebody joined too late for this idle: the agent goes on by itself, unless it is `over`.
 */
export async function settleFromList(
  driven: DrivenTurn,
  translator: Translator,
  { over } = { over: false },
): Promise<TurnEnding | "unfinished" | "unanswered"> {
  const { connection, agentSessionId, job, writer, joinedPrompts, signal } = driven;
  const messages = await joinedPrompts.closeWith(
    () => connection.client.listMessages(agentSessionId, signal, hasId(translator.state.userMessageId)),
    { isSilent: over, isCut: () => job.stop.aborted || translator.state.error !== null },
  );
  if (!messages) return "unanswered";
  try {
    const children = await readChildren(driven, { state: translator.state, messages, signal });
    const { state, changes, outcome } = settle({ state: translator.state, messages, children });
    if (outcome.type === "unfinished") {
      joinedPrompts.reopen();
      return "unfinished";
    }
    Object.assign(translator.state, state);
    await writer.apply(changes, state.lastNumber);
    if (outcome.type === "finished") return { outcome: "finished" };
    if (job.stop.aborted) return stopped;
    if (outcome.type === "failed") return failed(outcome.code, outcome.message, outcome.requestId);
    if (outcome.type === "aborted") return failed("aborted", "The agent was stopped by somebody else.");
    return failed("agent-error", causes["agent-forgot"].message);
  } catch (error) {
    joinedPrompts.reopen();
    throw error;
  }
}

/** Events were lost while the agent goes on: what it has stored since comes into the log before what follows. */
export async function fillFromList(driven: DrivenTurn, translator: Translator): Promise<void> {
  const { writer, signal } = driven;
  const stored = await readMessages(driven, translator.state, signal);
  const { state, changes } = settle({ state: translator.state, ...stored, running: true });
  Object.assign(translator.state, state);
  await writer.apply(changes, state.lastNumber);
}

/** All that is needed to end a turn to which nobody listens any more. */
export type EndedTurn = Pick<
  DrivenTurn,
  "context" | "job" | "sandbox" | "writer" | "connection" | "agentSessionId" | "directory"
>;

/** A limit was reached, or a stop not obeyed: the agent is told to stop, and what it stored is taken over. */
export async function endInAnyCase(driven: EndedTurn, translator: Translator, ending: TurnEnding): Promise<TurnEnding> {
  const { connection, agentSessionId, directory, sandbox, job, writer, context } = driven;
  const { stopMilliseconds, lastLookMilliseconds } = context.limits;
  const patience = AbortSignal.timeout(job.stop.aborted ? lastLookMilliseconds : stopMilliseconds);
  const signal = AbortSignal.any([sandbox.signal, job.closing, patience]);
  let untold = true;
  try {
    await endRun(connection.client, { agentSessionId, directory, signal });
    if (job.heard === "perhaps") {
      // A prompt that was on its way begins after the agent was found idle.
      await sleep(onItsWayMilliseconds, undefined, { signal });
      await endRun(connection.client, { agentSessionId, directory, signal });
    }
    untold = false;
    const stored = await readMessages(driven, translator.state, signal);
    const { changes, state } = settle({ state: translator.state, ...stored, end: true });
    Object.assign(translator.state, state);
    await writer.apply(changes, state.lastNumber);
    return ending;
  } catch (error) {
    job.closing.throwIfAborted();
    context.logger.warn({ err: error, turnId: job.turn.id }, "A turn ended without the agent's own account of it");
    // With the sandbox, what ran in it is over.
    const isUntold = untold && !sandbox.signal.aborted;
    return closeAsItIs(driven, translator, isUntold ? { ...ending, untold } : ending);
  }
}

/** Nobody can be asked any more. */
export async function closeAsItIs(
  driven: Pick<DrivenTurn, "writer">,
  translator: Translator,
  ending: TurnEnding,
): Promise<TurnEnding> {
  const { changes, state } = settle({ state: translator.state, messages: [], end: true });
  Object.assign(translator.state, state);
  await driven.writer.apply(changes, state.lastNumber);
  return ending;
}
