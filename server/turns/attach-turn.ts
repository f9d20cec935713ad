import {
  type EventSubscription,
  hasId,
  initialState,
  recallMessages,
  restoreState,
  settle,
  type TranslatorState,
} from "../agent/index.ts";
import { isAppError } from "../errors.ts";
import { causes } from "../protocol/causes.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import { memoryKey } from "./open-agent-session.ts";
import { prefaceFor } from "./replace-session.ts";
import { readMessages } from "./settle-turn.ts";
import { failed, stopped, type TurnEnding } from "./turn-context.ts";

export type AttachedTurn =
  /** `isIdle`: the agent has done its part, but only the events that follow tell how it ended. */
  | { state: TranslatorState; events: EventSubscription; ending: null; isIdle?: boolean }
  /** It was over already. */
  | { state: TranslatorState; ending: TurnEnding };

/** Brings a turn to where the agent's events tell the rest: prompts it, or goes on where the log stands. */
export async function attachTurn(driven: DrivenTurn): Promise<AttachedTurn> {
  const { turn, isResumed } = driven.job;
  const resumed = isResumed && turn.agentMessageId ? await resumeTurn(driven, turn.agentMessageId) : null;
  if (!resumed) driven.job.heard = "no";
  return resumed ?? (await promptAgent(driven));
}

/** Subscribes before it prompts; the ids are stored before they are sent, so that a takeover can repeat it. */
async function promptAgent(driven: DrivenTurn): Promise<AttachedTurn> {
  const { job, connection, agentSessionId } = driven;
  const { turn } = job;
  const signal = AbortSignal.any([job.stop, driven.signal]);
  // Named each time: by itself a session keeps the model of its last prompt, though another was chosen since.
  const findingModel = findModel(driven, signal);
  findingModel.catch(() => {});
  const { messageId, appliedEvent, bootId } = await job.preflight.prompting(driven, signal);
  Object.assign(turn, { agentMessageId: messageId, appliedEvent, appliedBoot: bootId });
  const model = await findingModel;
  const state = initialState({ root: agentSessionId, userMessageId: messageId, title: turn.title });
  // Of this prompt nothing has come yet, so what passed since needs no reading.
  const after = Math.max(connection.bus.passed, appliedEvent);
  const events = connection.bus.subscribe({ root: agentSessionId, after });
  try {
    const preface = await findPreface(driven);
    signal.throwIfAborted();
    job.heard = "perhaps";
    // Not cut short by a stop: one that was heard is told to stop, of one that was not nobody knows.
    await connection.client.prompt({
      agentSessionId,
      model,
      messageId,
      text: turn.prompt,
      preface,
      signal: driven.signal,
    });
  } catch (error) {
    events.close();
    // It answered, and did not take it.
    if (isAppError(error) && error.code !== undefined) job.heard = "no";
    throw error;
  }
  return { state, events, ending: null };
}

async function findModel({ job, sandbox, connection, directory }: DrivenTurn, signal: AbortSignal) {
  const opened = connection.openedSessions.get(job.turn.sessionId);
  const { configHash } = sandbox;
  if (opened?.model?.configHash === configHash) return opened.model.named;
  const named = await connection.client.findModel(directory, signal);
  if (opened) opened.model = { configHash, named };
  return named;
}

/** Of a turn that is taken over, the log says what became of the agent's memory. */
async function findPreface({ context, job, replaced }: DrivenTurn): Promise<string | null> {
  const { actor, turn } = job;
  if (replaced) return prefaceFor(replaced);
  if (!job.isResumed) return null;
  const entries = await context.log.readTurn({ actor, sessionId: turn.sessionId, turnId: turn.id });
  const note = entries.findLast(({ kind, key }) => kind === "memory-note" && key?.startsWith(memoryKey));
  return note && "status" in note.body ? prefaceFor(note.body.status) : null;
}

/** Null when the prompt never reached the agent. */
export async function resumeTurn(driven: DrivenTurn, userMessageId: string): Promise<AttachedTurn | null> {
  const { context, job, sandbox, writer, connection, agentSessionId, directory, joinedPrompts, signal } = driven;
  const { actor, turn } = job;
  const { client, bus } = connection;
  const isSameLife = turn.appliedBoot === sandbox.sidecar.bootId;
  const entries = await context.log.readTurn({ actor, sessionId: turn.sessionId, turnId: turn.id });
  const appliedEvent = isSameLife ? turn.appliedEvent : (await sandbox.sidecar.health(signal)).lastEvent;
  const { title } = turn;
  const state = restoreState({ root: agentSessionId, userMessageId, title, appliedEvent, entries });
  const events = bus.subscribe({ root: agentSessionId, children: state.children.keys(), after: appliedEvent });
  try {
    const list = () => client.listMessages(agentSessionId, signal, hasId(userMessageId));
    const sent = (await joinedPrompts.hasAny()) ? await joinedPrompts.resume(await list()) : [];
    const busy = sent.length > 0 || (await client.listBusy(directory, signal)).includes(agentSessionId);
    const stored = await readMessages(driven, state, signal);
    if (busy && isSameLife) {
      recallMessages(state, stored);
      return { state, events, ending: null };
    }
    const settled = settle({ state, ...stored, running: busy, end: !busy && !isSameLife });
    if (settled.outcome.type === "missing") {
      events.close();
      return null;
    }
    await writer.apply(settled.changes, settled.state.lastNumber);
    if (busy) return { state: settled.state, events, ending: null };
    // An error that left no answer, and the agent's own end, are told by events alone.
    if (isSameLife && settled.outcome.type === "unfinished") {
      return { state: settled.state, events, ending: null, isIdle: true };
    }
    events.close();
    const { outcome } = settled;
    if (outcome.type === "finished") return { state: settled.state, ending: { outcome: "finished" } };
    if (job.stop.aborted) return { state: settled.state, ending: stopped };
    const ending =
      outcome.type === "failed"
        ? failed(outcome.code, outcome.message, outcome.requestId)
        : failed("agent-exited", causes["agent-ended"].message);
    return { state: settled.state, ending };
  } catch (error) {
    events.close();
    throw error;
  }
}
