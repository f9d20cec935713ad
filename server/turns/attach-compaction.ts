import { setTimeout as sleep } from "node:timers/promises";
import { type AgentMessage, initialState } from "../agent/index.ts";
import { AppError } from "../errors.ts";
import { type AttachedTurn, resumeTurn } from "./attach-turn.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import { nextEvent } from "./preflight.ts";
import { isLogged, storePrompting } from "./turn-rows.ts";

const pollMilliseconds = 50;

/**
 * A summary of the conversation. opencode chooses the id of the message that it begins with, so it is looked
 * for in the list; from there on the turn is as any other.
 */
export async function attachCompaction(driven: DrivenTurn): Promise<AttachedTurn> {
  const { context, job, sandbox, connection, agentSessionId, fence } = driven;
  const { turn } = job;
  const lost = AbortSignal.any([job.closing, sandbox.signal]);
  const signal = AbortSignal.any([job.stop, lost]);
  const list = (isFirst: (message: AgentMessage) => boolean, until = signal) =>
    connection.client.listMessages(agentSessionId, until, isFirst);
  // The end of the conversation: the last answer, and what stands after it.
  const before = await list(isAnswer);
  const begun = turn.agentMessageId ?? (job.isResumed ? await findBegun(driven, before) : null);
  const resumed = begun ? await resumeTurn(driven, begun) : null;
  if (resumed) return resumed;
  const model = modelOf(before);
  if (!model) throw new AppError("conflict", "There is nothing to summarise yet.");
  const appliedEvent = await nextEvent(driven, signal);
  const events = connection.bus.subscribe({ root: agentSessionId, after: appliedEvent });
  const leaving = new AbortController();
  try {
    signal.throwIfAborted();
    const patience = AbortSignal.timeout(context.limits.turnMilliseconds);
    const written = connection.client
      .summarize({ agentSessionId, ...model, signal: AbortSignal.any([lost, patience, leaving.signal]) })
      .then(
        () => ({ ok: true as const }),
        (error: unknown) => ({ ok: false as const, error }),
      );
    const known = new Set(before.map(({ info }) => info.id));
    // A stop ends it as any turn, once it is known what is to be stopped.
    const messageId = await find(written, async () => {
      const isKnown = ({ info }: AgentMessage) => known.has(info.id);
      const messages = await list(isKnown, driven.signal);
      return messages.slice(messages.findLastIndex(isKnown) + 1);
    });
    const { bootId } = sandbox.sidecar;
    await storePrompting(fence, { turn, messageId, appliedEvent, bootId });
    return {
      state: initialState({ root: agentSessionId, userMessageId: messageId, title: turn.title }),
      events,
      ending: null,
    };
  } catch (error) {
    leaving.abort();
    events.close();
    throw error;
  }
}

/**
 * The server before this one died between the request and the answer that names the message: a summary that
 * stands last in the conversation and in no turn's log is the one that was asked for then.
 */
async function findBegun({ context, job }: DrivenTurn, messages: readonly AgentMessage[]): Promise<string | null> {
  const last = messages.findLast(({ info }) => info.role === "user");
  const part = last?.parts.find(({ type }) => type === "compaction");
  if (!last || !part || (await isLogged(context.database, job.actor, { turn: job.turn, key: part.id }))) return null;
  return last.info.id;
}

/** The compaction's message, as soon as it is there; the summary's own failure when it never comes. */
async function find(
  written: Promise<{ ok: true } | { ok: false; error: unknown }>,
  listNew: () => Promise<AgentMessage[]>,
): Promise<string> {
  for (;;) {
    const over = await Promise.race([written, sleep(pollMilliseconds, null)]);
    const message = (await listNew()).find(({ info, parts }) => isCompaction(info.role, parts));
    if (message) return message.info.id;
    if (over?.ok === false) throw over.error;
    if (over) throw new AppError("upstream", "The agent wrote no summary.");
  }
}

function isCompaction(role: string, parts: AgentMessage["parts"]): boolean {
  return role === "user" && parts.some(({ type }) => type === "compaction");
}

function isAnswer({ info }: AgentMessage): boolean {
  return info.role === "assistant" && typeof info.modelID === "string";
}

/** That of the last answer. */
function modelOf(messages: readonly AgentMessage[]): { providerId: string; modelId: string } | null {
  const last = messages.findLast(isAnswer);
  if (!last) return null;
  const { providerID, modelID } = last.info;
  return typeof providerID === "string" && typeof modelID === "string"
    ? { providerId: providerID, modelId: modelID }
    : null;
}
