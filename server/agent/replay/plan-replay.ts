import type { AgentMessage } from "../index.ts";
import { createReplayIds, type ReplayIds } from "./replay-ids.ts";
import { isCompaction, type SavedMessage, type SavedModel, type SavedPart } from "./saved-conversation.ts";

/** A session with its messages, as `opencode export` writes it and `opencode import` reads it. */
export interface Replay {
  info: { id: string; directory: string } & Record<string, unknown>;
  messages: AgentMessage[];
}

export interface ReplayTarget {
  directory: string;
  /** Of opencode. */
  projectId: string;
  /** What prompts without a model of their own are answered by: opencode takes the last prompt's. */
  model: SavedModel;
}

export interface ReplayEvent {
  id: string;
  aggregateID: string;
  seq: number;
  type: string;
  data: Record<string, unknown>;
}

/** Gives the conversation ids, a session and what else opencode wants to know. `seed` tells replacements apart. */
export function planReplay(
  messages: readonly SavedMessage[],
  { seed, title, target }: { seed: readonly string[]; title: string; target: ReplayTarget },
): Replay {
  const last = messages.at(-1)?.endedAt ?? 0;
  const count = messages.reduce((total, { parts }) => total + parts.length + 1, 0);
  const ids = createReplayIds(JSON.stringify([seed, title, target, messages]), { count, before: last });
  const info = {
    id: ids.session,
    slug: "replayed",
    version: "replayed",
    projectID: target.projectId,
    directory: target.directory,
    title,
    time: { created: messages[0]?.startedAt ?? last, updated: last },
  };
  const renamed = new Map<string, string>();
  const planned: AgentMessage[] = [];
  // opencode orders by time first.
  let earliest = 0;
  for (const [index, message] of messages.entries()) {
    const id = ids.next("msg");
    if (message.formerId !== null) renamed.set(message.formerId, id);
    const created = Math.max(message.startedAt, earliest);
    earliest = created + 1;
    const common = { id, sessionID: info.id, role: message.role };
    const isLast = messages[index + 1]?.role !== "assistant";
    const parent = planned.findLast(({ info: { role } }) => role === "user")?.info.id ?? id;
    const finish = !isLast && message.parts.some(({ type }) => type === "tool") ? "tool-calls" : "stop";
    planned.push({
      info:
        message.role === "user"
          ? { ...common, time: { created }, agent: "build", model: modelOf(target.model) }
          : { ...common, ...answerInfo(message, { created, parent, finish, target }) },
      parts: planParts(message, { id, renamed, ids, session: info.id }),
    });
  }
  return { info, messages: planned };
}

/** As opencode's own history would have them: `POST /sync/replay` takes these in. */
export function replayEvents({ info, messages }: Replay): ReplayEvent[] {
  const sessionID = info.id;
  const events: Pick<ReplayEvent, "type" | "data">[] = [
    { type: "session.created.1", data: { sessionID, info } },
    ...messages.flatMap((message) => [
      { type: "message.updated.1", data: { sessionID, info: message.info } },
      ...message.parts.map((part) => {
        const { time } = message.info as { time?: { created?: number } };
        return { type: "message.part.updated.1", data: { sessionID, part, time: time?.created ?? 0 } };
      }),
    ]),
  ];
  const ids = createReplayIds(sessionID, { count: 0, before: 0 });
  return events.map((event, seq) => ({ id: ids.event(seq), aggregateID: sessionID, seq, ...event }));
}

const noTokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

function answerInfo(
  message: SavedMessage,
  input: { created: number; parent: string; finish: string; target: ReplayTarget },
): Record<string, unknown> {
  const { created, parent, finish, target } = input;
  return {
    time: { created, completed: Math.max(created, message.endedAt) },
    parentID: parent,
    ...modelOf(message.model ?? target.model),
    mode: message.summary ? "compaction" : "build",
    agent: message.summary ? "compaction" : "build",
    path: { cwd: target.directory, root: target.directory },
    // Counted where they were used; here they would be counted twice.
    cost: 0,
    tokens: noTokens,
    finish,
    ...(message.summary ? { summary: true } : {}),
  };
}

/** Without the marks of steps: each message is one step, and they would double what is to be written. */
function planParts(
  message: SavedMessage,
  input: { id: string; renamed: ReadonlyMap<string, string>; ids: ReplayIds; session: string },
): AgentMessage["parts"] {
  const { id, renamed, ids, session } = input;
  return message.parts
    .map((part) => (isCompaction(message) ? renameTail(part, renamed) : part))
    .map((part) => ({ ...part, id: ids.next("prt"), messageID: id, sessionID: session }));
}

function renameTail({ tail_start_id: tail, ...part }: SavedPart, renamed: ReadonlyMap<string, string>): SavedPart {
  const id = typeof tail === "string" ? renamed.get(tail) : undefined;
  return { ...part, ...(id ? { tail_start_id: id } : {}) } as SavedPart;
}

function modelOf({ providerId, modelId }: SavedModel): { providerID: string; modelID: string } {
  return { providerID: providerId, modelID: modelId };
}
