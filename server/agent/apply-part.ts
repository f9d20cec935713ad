import { isDeepStrictEqual } from "node:util";
import type { EntryBody, EntryKind, ToolCallBody } from "../protocol/log-entry.ts";
import { isLater } from "./agent-ids.ts";
import { isFinalTool, toolCallBody } from "./tool-call.ts";
import { isFields } from "./tool-content.ts";
import { type AgentPart, childOf, type KnownPart, type Output, type TranslatorState } from "./translator-state.ts";
import { readUsage } from "./usage.ts";

/** Parts that say nothing which the log shows: files changed are seen as diffs, snapshots are opencode's own. */
const silent = new Set(["step-start", "patch", "snapshot", "file", "agent", "subtask", "retry"]);

/**
 * One assistant part as it is now. Parts are cumulative, so the same one twice changes nothing, and a
 * later one fills whatever was missed in between.
 */
export function applyPart(state: TranslatorState, part: AgentPart, out: Output): void {
  if (part.type === "text" || part.type === "reasoning") applyText(state, part, out);
  else if (part.type === "tool") applyTool(state, part, out);
  else if (part.type === "step-finish") applyStep(state, part);
  else if (!silent.has(part.type)) count(state, `part:${part.type}`);
}

export function applyDelta(state: TranslatorState, properties: Record<string, unknown>, out: Output): void {
  const { partID: key, field, delta } = properties;
  if (typeof key !== "string" || typeof delta !== "string" || field !== "text") {
    count(state, "message.part.delta");
    return;
  }
  const part = state.parts.get(key);
  // Without its beginning, or after a gap, a delta has no offset: the cumulative part brings it.
  if (!part?.open || part.uncertain || delta === "") return;
  part.text += delta;
  state.quiet = false;
  out.changes.push({ type: "append", key, text: delta });
}

/** A compaction stands in the log as a boundary of the agent's memory; its summary follows as a thought. */
export function applyCompaction(state: TranslatorState, part: AgentPart, out: Output): void {
  const known = state.parts.get(part.id);
  const tail = typeof part.tail_start_id === "string" ? part.tail_start_id : "";
  if (known?.open) {
    if (isCompacting(known)) return;
    known.text = tail;
    closePart(state, { key: part.id, verbatim: part }, out);
  } else if (known) {
    // Said once the summary is written: which messages stay beside it. A replay has to know.
    if (tail === "" || known.discarded || known.text === tail) return;
    known.text = tail;
    out.changes.push({ type: "close", key: part.id, verbatim: part });
  } else {
    state.compacting = true;
    state.compaction = part;
    const body = { status: "compacting", message: "The conversation is being summarised to make room." };
    openPart(state, { part, kind: "memory-note", body }, out);
  }
}

/** Only with its summary has the agent's memory changed. After a takeover the part comes with what the agent has stored. */
export function finishCompaction(state: TranslatorState, out: Output): void {
  const [key] = unfinishedCompaction(state);
  if (key === undefined) return;
  const body = { status: "compacted", message: "The conversation was summarised to make room." };
  replaceBody(state, { key, body }, out);
  if (state.compaction?.id === key) applyCompaction(state, state.compaction, out);
  state.compaction = null;
}

const isCompacting = ({ body }: KnownPart) => body !== null && "status" in body && body.status === "compacting";

/** Its note and what there is of its summary; empty where none was begun, or each has its summary. */
export function unfinishedCompaction({ parts }: TranslatorState): string[] {
  const all = [...parts].filter(([, { discarded }]) => !discarded);
  const note = all.findIndex(([, part]) => isCompacting(part));
  if (note < 0) return [];
  const session = all[note]?.[1].session;
  return all.slice(note).flatMap(([key, part]) => (part.session === session ? [key] : []));
}

/**
 * opencode asks the model again, in the same message: what the failed try said will be said anew, also what
 * of it was finished. `eventId` tells it from what the next try has said since, where that is known already.
 */
export function discardTry(
  state: TranslatorState,
  input: { session: string; attempt: number; reason: string; eventId: unknown },
  out: Output,
): void {
  const { session, eventId, attempt, reason } = input;
  const message = [...state.messages].findLast(
    ([, known]) => known.session === session && known.role === "assistant" && known.ours,
  );
  const keys = [...state.parts]
    .filter(([, part]) => part.session === session && !part.discarded && isOfTry(part))
    .filter(([, part]) => part.open || (part.message !== null && part.message === message?.[0]))
    .filter(([key]) => !isLater(key, eventId))
    .map(([key]) => key);
  discard(state, { keys, attempt, reason }, out);
}

export function discard(
  state: TranslatorState,
  input: { keys: string[]; attempt: number; reason: string },
  out: Output,
): void {
  if (input.keys.length === 0) return;
  for (const key of input.keys) {
    const part = state.parts.get(key);
    if (part) Object.assign(part, { open: false, discarded: true });
  }
  out.changes.push({ type: "discard", ...input });
}

/** One plan for each turn: the root's list of what is to be done. */
export function applyPlan(state: TranslatorState, todos: unknown, out: Output): void {
  if (!Array.isArray(todos)) return;
  const body: EntryBody<"plan"> = { entries: todos.filter(isFields).map(planEntry) };
  const key = `plan:${state.root}`;
  const known = state.parts.get(key);
  if (known && (!known.open || isDeepStrictEqual(known.body, body))) return;
  if (known) replaceBody(state, { key, body }, out);
  else {
    state.parts.set(key, {
      kind: "plan",
      session: state.root,
      message: null,
      open: true,
      discarded: false,
      text: "",
      uncertain: false,
      body,
    });
    out.changes.push({ type: "open", key, kind: "plan", body, under: null });
  }
}

export function replaceBody(state: TranslatorState, input: { key: string; body: EntryBody }, out: Output): void {
  const part = state.parts.get(input.key);
  if (part) part.body = input.body;
  out.changes.push({ type: "replace", ...input });
}

export function closePart(state: TranslatorState, input: { key: string; verbatim: unknown }, out: Output): void {
  const part = state.parts.get(input.key);
  if (!part?.open) return;
  part.open = false;
  out.changes.push({ type: "close", ...input });
}

export function count(state: TranslatorState, type: string): void {
  state.unknown.set(type, (state.unknown.get(type) ?? 0) + 1);
}

function applyText(state: TranslatorState, part: AgentPart, out: Output): void {
  const text = typeof part.text === "string" ? part.text : "";
  const ended = isFields(part.time) && typeof part.time.end === "number";
  const known = state.parts.get(part.id);
  if (!known) openPart(state, { part, kind: kindOfText(state, part), body: { text } }, out);
  else if (known.open) fillText({ key: part.id, known, text, ended }, out);
  else return;
  state.quiet = false;
  if (ended) closePart(state, { key: part.id, verbatim: part }, out);
}

/**
 * A part that still grows is first sent empty: only more text than is known counts then. At its end
 * its text is the truth, whatever was known.
 */
function fillText(input: { key: string; known: KnownPart; text: string; ended: boolean }, out: Output): void {
  const { key, known, text, ended } = input;
  if (!ended && text.length < known.text.length) return;
  if (text.startsWith(known.text)) {
    if (text.length > known.text.length) out.changes.push({ type: "append", key, text: text.slice(known.text.length) });
    if (text !== "") known.uncertain = false;
  } else {
    out.changes.push({ type: "replace", key, body: { text } });
    known.uncertain = false;
  }
  known.text = text;
}

function applyTool(state: TranslatorState, part: AgentPart, out: Output): void {
  const body = toolCallBody(part);
  const known = state.parts.get(part.id);
  if (known && !known.open) return;
  if (!known) openPart(state, { part, kind: "tool_call", body }, out);
  else if (!isDeepStrictEqual(known.body, body)) replaceBody(state, { key: part.id, body }, out);
  state.quiet = false;
  const child = childOf(body);
  if (child) state.children.set(child, part.id);
  if (body.tool === "todowrite" && part.sessionID === state.root) applyPlan(state, body.rawInput?.todos, out);
  if (isFinalTool(body)) closePart(state, { key: part.id, verbatim: part }, out);
}

function applyStep(state: TranslatorState, part: AgentPart): void {
  const known = state.steps.get(part.id);
  const message = state.messages.get(part.messageID);
  // After a takeover or a loss the step may come before the message that names its model.
  if (known && (known.modelId !== null || !message?.modelId)) return;
  state.steps.set(part.id, readUsage(part, message));
}

function openPart(
  state: TranslatorState,
  input: { part: AgentPart; kind: EntryKind; body: EntryBody },
  out: Output,
): void {
  const { part, kind, body } = input;
  const under = state.children.get(part.sessionID) ?? null;
  const keepsBody = kind === "tool_call" || kind === "memory-note";
  state.parts.set(part.id, {
    kind,
    session: part.sessionID,
    message: part.messageID,
    open: true,
    discarded: false,
    text: "text" in body ? body.text : "",
    uncertain: false,
    body: keepsBody ? body : null,
  });
  out.changes.push({ type: "open", key: part.id, kind, body, under });
}

function kindOfText(state: TranslatorState, part: AgentPart): EntryKind {
  const isSummary = state.messages.get(part.messageID)?.summary ?? state.compacting;
  return part.type === "reasoning" || isSummary ? "agent_thought" : "agent_message";
}

/** A tool that already runs goes on by itself, and what it did is done; a call that was still being written is not. */
function isOfTry(part: KnownPart): boolean {
  if (part.kind === "tool_call") return (part.body as ToolCallBody).status === "pending";
  return part.kind === "agent_message" || part.kind === "agent_thought";
}

const planStatuses = ["pending", "in_progress", "completed", "cancelled"] as const;
const planPriorities = ["high", "medium", "low"] as const;

function planEntry(todo: Record<string, unknown>): EntryBody<"plan">["entries"][number] {
  return {
    content: typeof todo.content === "string" ? todo.content : "",
    status: planStatuses.find((status) => status === todo.status) ?? "pending",
    priority: planPriorities.find((priority) => priority === todo.priority) ?? "medium",
  };
}
