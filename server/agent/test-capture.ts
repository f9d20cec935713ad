import { readFileSync } from "node:fs";
import type { EntryBody, EntryKind, ToolCallBody } from "../protocol/log-entry.ts";
import type { NumberedEvent } from "../protocol/sidecar.ts";
import type { AgentMessage, LogChange, TurnSignal } from "./index.ts";
import { initialState, type LoggedEntry, type TranslatorState } from "./translator-state.ts";

/** A session log in memory, as simple as can be: what the changes of a turn amount to. */
export interface TestEntry extends LoggedEntry {
  key: string;
  discarded: boolean;
  verbatim: unknown;
}

export interface TestLog {
  entries: Map<string, TestEntry>;
  title: string | null;
}

export function createTestLog(): TestLog {
  return { entries: new Map(), title: null };
}

/** Throws on whatever a log could not do: an entry opened twice, or changed after its end. */
export function applyChanges(log: TestLog, changes: readonly LogChange[]): void {
  for (const change of changes) {
    if (change.type === "title") log.title = change.title;
    else if (change.type === "open") openEntry(log, change);
    else if (change.type === "discard") for (const key of change.keys) discardEntry(log, key);
    else changeEntry(openEntryOf(log, change.key), change);
  }
}

function openEntry(log: TestLog, change: Extract<LogChange, { type: "open" }>): void {
  const { key, kind, body, under } = change;
  if (log.entries.has(key)) throw new Error(`${key} was opened twice`);
  if (under !== null && !log.entries.has(under)) throw new Error(`${key} stands under ${under}, which is unknown`);
  log.entries.set(key, { key, kind, body, under, open: true, discarded: false, verbatim: undefined });
}

function openEntryOf(log: TestLog, key: string): TestEntry {
  const entry = log.entries.get(key);
  if (!entry?.open) throw new Error(`${key} is not open`);
  return entry;
}

/** Also what was finished: a try takes all that it said with it, once. */
function discardEntry(log: TestLog, key: string): void {
  const entry = log.entries.get(key);
  if (!entry || entry.discarded) throw new Error(`${key} cannot be discarded`);
  Object.assign(entry, { open: false, discarded: true });
}

function changeEntry(entry: TestEntry, change: Extract<LogChange, { type: "append" | "replace" | "close" }>): void {
  if (change.type === "append") entry.body = { text: (entry.body as { text: string }).text + change.text };
  if (change.type === "replace") entry.body = change.body;
  if (change.type === "close") {
    entry.open = false;
    entry.verbatim = change.verbatim;
  }
}

/** For people to read and compare. */
export function printLog(log: TestLog, signals: readonly TurnSignal[]): string {
  const lines = [...log.entries.values()].map((entry) => {
    const depth = entry.under === null ? "" : "    ";
    const marks = [entry.open ? "open" : "", entry.discarded ? "discarded" : ""].filter(Boolean).join(" ");
    return `${depth}${entry.kind}${marks ? ` (${marks})` : ""} ${printBody(entry.kind, entry.body)}`;
  });
  const title = log.title === null ? [] : [`title ${JSON.stringify(log.title)}`];
  return `${[...title, ...lines, "", ...signals.map(printSignal)].join("\n")}\n`;
}

function printBody(kind: EntryKind, body: EntryBody): string {
  if (kind !== "tool_call") return JSON.stringify("text" in body && kind !== "prompt" ? body.text : body);
  const { startedAt, endedAt, toolCallId, ...rest } = body as ToolCallBody;
  const timed = startedAt !== undefined && endedAt !== undefined ? "" : " (no times)";
  return `${JSON.stringify(rest).replaceAll(/ses_\w+/g, "ses_…")}${timed}`;
}

function printSignal(signal: TurnSignal): string {
  const { type, ...rest } = signal;
  const text = JSON.stringify(rest).replaceAll(/"(next)":\d+/g, '"next":0');
  return `- ${type} ${text === "{}" ? "" : text.replaceAll(/(ses|prt|msg|per|que)_\w+/g, "$1_…")}`.trimEnd();
}

type Payload = Extract<NumberedEvent, { type: "agent" }>["payload"];

/** A recorded stream of opencode, numbered as the sidecar would. */
export function readCapture(name: string): NumberedEvent[] {
  const text = readFileSync(new URL(`captures/${name}`, import.meta.url), "utf8");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line, index) => {
      const { directory = null, payload, ...event } = JSON.parse(line) as { directory?: string; payload?: Payload };
      return { type: "agent", number: index + 1, directory, payload: payload ?? (event as Payload) };
    });
}

/** The first prompt of the capture: its session is the root. */
export function stateForCapture(events: readonly NumberedEvent[]): TranslatorState {
  for (const event of events) {
    if (event.type !== "agent" || event.payload.type !== "message.updated") continue;
    const { id, role, sessionID } = event.payload.properties.info as { id: string; role: string; sessionID: string };
    if (role === "user") return initialState({ root: sessionID, userMessageId: id });
  }
  throw new Error("The capture has no prompt.");
}

/** What the agent's message lists would hold after these events: the last state of each message and part. */
export function messagesAfter(events: readonly NumberedEvent[]): AgentMessage[] {
  const messages = new Map<string, AgentMessage>();
  for (const event of events) {
    if (event.type !== "agent") continue;
    const { info, part } = event.payload.properties as { info?: AgentMessage["info"]; part?: AgentMessage["parts"][0] };
    if (event.payload.type === "message.updated" && info) {
      messages.set(info.id, { info, parts: messages.get(info.id)?.parts ?? [] });
    }
    if (event.payload.type !== "message.part.updated" || !part) continue;
    const message = messages.get(part.messageID);
    if (!message) continue;
    const index = message.parts.findIndex(({ id }) => id === part.id);
    if (index < 0) message.parts.push(part);
    else message.parts[index] = part;
  }
  return [...messages.values()];
}
