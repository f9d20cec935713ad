import { applyCompaction, applyPart, finishCompaction } from "./apply-part.ts";
import { isFields } from "./tool-content.ts";
import type { AgentPart, Output, TranslatorState } from "./translator-state.ts";

const maxHeldParts = 200;

/** `message.updated`: whose message it is, and whether it is of this turn. `stored`: it stands after the turn's prompt. */
export function applyMessage(
  state: TranslatorState,
  { info, stored = false }: { info: Record<string, unknown>; stored?: boolean },
  out: Output,
): void {
  const { id, role, sessionID } = info;
  if (typeof id !== "string" || (role !== "user" && role !== "assistant")) return;
  const known = state.messages.get(id)?.ours;
  const ours = stored || sessionID !== state.root || (known ?? isNewlyOurs(state, { id, role, info }));
  if (ours && role === "assistant") {
    if (sessionID === state.root) state.begun = true;
    state.quiet = false;
    state.compacting = info.summary === true;
    if (isSummary(info)) finishCompaction(state, out);
  }
  state.messages.set(id, {
    role,
    session: typeof sessionID === "string" ? sessionID : state.root,
    ours,
    summary: info.summary === true,
    providerId: typeof info.providerID === "string" ? info.providerID : null,
    modelId: typeof info.modelID === "string" ? info.modelID : null,
  });
  const held = state.held.get(id);
  if (!held) return;
  state.held.delete(id);
  for (const part of held) applyMessagePart(state, part, out);
}

/** Written to its end. */
const isSummary = ({ summary, finish, error }: Record<string, unknown>) =>
  summary === true && typeof finish === "string" && !error;

/** `message.part.updated`: parts of the agent give entries; the prompt is logged by the turn itself. */
export function applyMessagePart(state: TranslatorState, part: AgentPart, out: Output): void {
  if (state.parts.has(part.id)) {
    if (part.type === "compaction") applyCompaction(state, part, out);
    else applyPart(state, part, out);
    return;
  }
  const message = state.messages.get(part.messageID);
  if (message) {
    if (!message.ours) return;
    if (message.role === "assistant") applyPart(state, part, out);
    else if (part.type === "compaction") applyCompaction(state, part, out);
    return;
  }
  // What follows only happens where events were lost, or before a takeover.
  if (part.sessionID === state.root && !isOurs(state, part.messageID)) return;
  if (part.type === "compaction") applyCompaction(state, part, out);
  else if (isAgents(part)) applyPart(state, part, out);
  else hold(state, part);
}

export function readPart(value: unknown): AgentPart | null {
  if (!isFields(value)) return null;
  const { id, messageID, sessionID, type } = value;
  const isWhole = [id, messageID, sessionID, type].every((field) => typeof field === "string");
  return isWhole ? (value as AgentPart) : null;
}

/**
 * Messages that begin after our prompt are of this turn, also those that a compaction adds. A late
 * update of an older prompt is known by its summary. Ids alone would not do: the clocks of server and
 * sandbox may differ.
 */
function isNewlyOurs(
  state: TranslatorState,
  { id, role, info }: { id: string; role: "user" | "assistant"; info: Record<string, unknown> },
): boolean {
  if (role === "user") return isOurs(state, id) || (hasBegun(state) && info.summary === undefined);
  const parent = typeof info.parentID === "string" ? state.messages.get(info.parentID) : undefined;
  return parent?.ours ?? isOurs(state, info.parentID);
}

function hasBegun(state: TranslatorState): boolean {
  return state.messages.has(state.userMessageId);
}

/** Where only an id is known: they ascend with time. */
function isOurs(state: TranslatorState, messageId: unknown): boolean {
  return typeof messageId === "string" && messageId >= state.userMessageId;
}

/** Only the agent has these; a person's text comes whole and never grows. */
function isAgents(part: AgentPart): boolean {
  return part.type !== "text" || (part.text === "" && isFields(part.time));
}

function hold(state: TranslatorState, part: AgentPart): void {
  const held = state.held.get(part.messageID) ?? [];
  const others = held.filter(({ id }) => id !== part.id);
  if (others.length < maxHeldParts) state.held.set(part.messageID, [...others, part]);
}
