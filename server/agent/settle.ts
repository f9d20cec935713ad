import type { ToolCallBody } from "../protocol/log-entry.ts";
import { failureOfAgent } from "./agent-failure.ts";
import { hasId } from "./agent-ids.ts";
import { applyMessage, applyMessagePart, readPart } from "./apply-message.ts";
import { closePart, discard, replaceBody, unfinishedCompaction } from "./apply-part.ts";
import type { AgentMessage, LogChange } from "./index.ts";
import { isFields } from "./tool-content.ts";
import type { AgentFailure, AgentPart, Output, TranslatorState } from "./translator-state.ts";

export type SettledOutcome =
  | { type: "finished"; finish: string | null }
  | { type: "aborted" }
  | ({ type: "failed" } & AgentFailure)
  /** The last message is not complete: the turn still runs, or its end has not been written yet, or it was cut. */
  | { type: "unfinished" }
  /** The agent does not know the prompt. */
  | { type: "missing" };

export interface Settlement {
  /** To go on with, where the turn still runs. */
  state: TranslatorState;
  changes: LogChange[];
  outcome: SettledOutcome;
}

/**
 * Makes the log equal to what opencode has stored: used at the end of each turn, and after events were
 * lost. With an outcome other than `unfinished`, or with `end`, every entry is final afterwards.
 */
export function settle(input: {
  state: TranslatorState;
  /** The root's messages; those from the turn's prompt on count. */
  messages: readonly AgentMessage[];
  /** Messages of subagents (`state.children`), where they are at hand. */
  children?: readonly AgentMessage[];
  /** The root is busy: what is missing is filled in, nothing ends. Between two steps its last message is complete too. */
  running?: boolean;
  /** The turn is over in any case: the agent died, or a limit was reached. */
  end?: boolean;
}): Settlement {
  const state = structuredClone(input.state);
  const out: Output = { changes: [], signals: [] };
  const messages = sincePrompt(state, input.messages);
  for (const message of [...messages, ...(input.children ?? [])]) applyStored(state, message, out);
  const judged =
    messages.length === 0 && !state.error
      ? ({ type: "missing" } as const)
      : outcomeOf(state, { messages, end: input.end === true });
  const outcome: SettledOutcome = input.running && judged.type !== "missing" ? { type: "unfinished" } : judged;
  if (outcome.type !== "unfinished" || input.end) closeAll(state, out);
  return { state, changes: out.changes, outcome };
}

function sincePrompt(state: TranslatorState, messages: readonly AgentMessage[]): readonly AgentMessage[] {
  const start = messages.findIndex(hasId(state.userMessageId));
  return start < 0 ? [] : messages.slice(start);
}

function applyStored(state: TranslatorState, message: AgentMessage, out: Output): void {
  applyMessage(state, { info: message.info, stored: true }, out);
  const complete = isComplete(message);
  const lastStart = message.parts.findLastIndex(({ type }) => type === "step-start");
  for (const [index, given] of message.parts.entries()) {
    const part = readPart(given);
    if (!part) continue;
    // One message is one call of the model: where it begins again, what was said before was a try that failed.
    if (index < lastStart && isSaid(part)) forget(state, part, out);
    else if (!isGrowing(part)) applyMessagePart(state, part, out);
    // It stays empty for as long as it grows, and for ever when its try failed.
    else if (complete && state.parts.get(part.id)?.open) forget(state, part, out);
  }
}

/** Text, thoughts and calls that were never made: opencode keeps `raw` of a call only until it runs. */
function isSaid(part: AgentPart): boolean {
  if (part.type === "text" || part.type === "reasoning") return true;
  return part.type === "tool" && isFields(part.state) && "raw" in part.state;
}

/** A taken over turn learns which message its parts are of, and who wrote it with which model. */
export function recallMessages(
  state: TranslatorState,
  { messages, children }: { messages: readonly AgentMessage[]; children: readonly AgentMessage[] },
): void {
  for (const { info, parts } of [...sincePrompt(state, messages), ...children]) {
    applyMessage(state, { info, stored: true }, { changes: [], signals: [] });
    for (const { id, messageID } of parts) {
      const known = state.parts.get(id);
      if (known) known.message = messageID;
    }
  }
}

/** The list holds no text of a part before its end: empty there says nothing about what was streamed. */
function isGrowing(part: AgentPart): boolean {
  if (part.type !== "text" && part.type !== "reasoning") return false;
  return part.text === "" && !(isFields(part.time) && typeof part.time.end === "number");
}

function forget(state: TranslatorState, part: AgentPart, out: Output): void {
  const known = state.parts.get(part.id);
  if (!known || known.discarded) return;
  discard(state, { keys: [part.id], attempt: state.attempt, reason: "The model's answer was cut off." }, out);
}

function outcomeOf(
  state: TranslatorState,
  { messages, end }: { messages: readonly AgentMessage[]; end: boolean },
): SettledOutcome {
  const last = messages.findLast(({ info }) => info.role === "assistant");
  if (last?.info.error) return failedOutcome(failureOfAgent(last.info.error));
  if (last && isComplete(last)) {
    const { finish } = last.info;
    if (typeof finish === "string") return { type: "finished", finish };
    // An abort between two tries ends the message with neither a finish nor an error.
    return state.error ? failedOutcome(state.error) : { type: "aborted" };
  }
  // opencode reports the error and is idle before it has written the last parts of the message.
  return state.error && (!last || end) ? failedOutcome(state.error) : { type: "unfinished" };
}

function failedOutcome({ code, message, requestId }: AgentFailure): SettledOutcome {
  return code === "aborted" ? { type: "aborted" } : { type: "failed", code, message, requestId };
}

function isComplete({ info }: AgentMessage): boolean {
  return isFields(info.time) && typeof info.time.completed === "number";
}

function closeAll(state: TranslatorState, out: Output): void {
  const { attempt } = state;
  discard(state, { keys: unfinishedCompaction(state), attempt, reason: "The summary was not finished." }, out);
  for (const [key, part] of state.parts) {
    if (!part.open) continue;
    if (part.kind === "tool_call") {
      const body = part.body as ToolCallBody;
      const error = "The turn ended before this finished.";
      replaceBody(state, { key, body: { ...body, status: "failed", error } }, out);
    }
    closePart(state, { key, verbatim: null }, out);
  }
}
