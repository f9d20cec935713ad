import type { EntryKind } from "../../protocol/log-entry.ts";
import { isFields } from "../tool-content.ts";
import { rebuildPart } from "./rebuild-part.ts";

/** A row of the session log, without discarded tries and without what subagents did. */
export interface SavedEntry {
  turnId: string | null;
  kind: EntryKind;
  key: string | null;
  /** Milliseconds. */
  at: number;
  body: Record<string, unknown>;
  /** opencode's part; null where it ended without the agent's own word. */
  verbatim: unknown;
  /** Of the entry's turn: the prompt's id in opencode, and who answered. */
  agentMessageId: string | null;
  model: SavedModel | null;
}

export interface SavedModel {
  providerId: string;
  modelId: string;
}

export type SavedPart = { type: string } & Record<string, unknown>;

/** A message of the conversation, with neither ids nor a session of its own yet. */
export interface SavedMessage {
  role: "user" | "assistant";
  turnId: string | null;
  /** As opencode called it, where that is known. */
  formerId: string | null;
  model: SavedModel | null;
  /** The answer to a compaction. */
  summary: boolean;
  startedAt: number;
  endedAt: number;
  parts: SavedPart[];
}

/** The log as messages, oldest first: who said what, with the tools' results in their calls. */
export function readMessages(entries: readonly SavedEntry[]): SavedMessage[] {
  const messages: SavedMessage[] = [];
  const known = new Map<string, SavedMessage>();
  const texts = new Map<string, SavedPart>();
  let prompt: SavedMessage | null = null;

  const begin = (entry: SavedEntry, role: SavedMessage["role"], formerId: string | null): SavedMessage => {
    const { turnId, model, at } = entry;
    const before = messages.at(-1);
    const summary = role === "assistant" && isCompaction(before);
    // opencode prompts itself after a compaction; the person's own words say the same.
    if (role === "assistant" && before?.summary && prompt?.turnId === turnId) {
      messages.push({ ...prompt, formerId: null, startedAt: at, endedAt: at });
    }
    const message = { role, turnId, formerId, model, summary, startedAt: at, endedAt: at, parts: [] };
    messages.push(message);
    if (formerId !== null) known.set(formerId, message);
    return message;
  };
  const answerOf = (entry: SavedEntry, formerId: string | null): SavedMessage => {
    const last = messages.at(-1);
    const same = formerId === null ? last : known.get(formerId);
    const fits = same?.role === "assistant" && same.turnId === entry.turnId;
    return fits ? same : begin(entry, "assistant", formerId);
  };

  for (const entry of entries) {
    const { kind, key, body, verbatim } = entry;
    if (kind === "prompt") {
      prompt = begin(entry, "user", entry.agentMessageId);
      prompt.parts.push({ type: "text", text: String(body.text ?? "") });
    } else if (kind === "memory-note") {
      const part = partOf(verbatim);
      if (part?.type === "compaction") begin(entry, "user", textIn(part.messageID)).parts.push(part);
    } else if (key !== null && texts.has(key)) {
      // Long text goes on in further entries; the verbatim part beside the first has all of it.
      const begun = texts.get(key);
      if (begun && begun.verbatim !== true) begun.text = `${begun.text}${body.text ?? ""}`;
    } else {
      const part = partOf(verbatim) ?? rebuildPart(entry);
      if (!part) continue;
      const message = answerOf(entry, textIn(part.messageID));
      message.parts.push(part);
      message.endedAt = Math.max(message.endedAt, entry.at);
      if (key !== null && kind !== "tool_call") texts.set(key, verbatim ? { type: "text", verbatim: true } : part);
    }
  }
  // A compaction without its summary would be done again by whoever finds it.
  return messages.filter((message, index) => !isCompaction(message) || messages[index + 1]?.summary === true);
}

export function isCompaction(message: SavedMessage | undefined): boolean {
  return message?.role === "user" && message.parts.some(({ type }) => type === "compaction");
}

function partOf(verbatim: unknown): SavedPart | null {
  return isFields(verbatim) && typeof verbatim.type === "string" ? ({ ...verbatim } as SavedPart) : null;
}

function textIn(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
