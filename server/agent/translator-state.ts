import type { EntryBody, EntryKind, ToolCallBody } from "../protocol/log-entry.ts";
import type { NumberedEvent } from "../protocol/sidecar.ts";
import type { LogChange, StepUsage, TurnSignal } from "./index.ts";

/** What the translation of one turn remembers. Plain data (Maps included): `structuredClone` copies it. */
export interface TranslatorState {
  /** The turn's own session; those of subagents are its `children`. */
  readonly root: string;
  /** The message that began the turn; ids ascend, so what is older belongs to earlier turns. */
  readonly userMessageId: string;
  /** Events up to here were applied; a repeated one is known by its number. */
  lastNumber: number;
  /** The root was busy: an idle before that belongs to the turn before. */
  begun: boolean;
  /** Nothing of the root changed since the last idle: opencode says idle twice. */
  quiet: boolean;
  attempt: number;
  /** Between a compaction's beginning and its end: what is written then is its summary. */
  compacting: boolean;
  /** What began it, as opencode sent it. */
  compaction: AgentPart | null;
  title: string | null;
  error: AgentFailure | null;
  /** Child session of `task` → key of its tool_call. */
  readonly children: Map<string, string>;
  /** Child session → its parent, from its creation until the tool_call names it. Its events wait. */
  readonly unattached: Map<string, AgentEvent[]>;
  readonly messages: Map<string, KnownMessage>;
  readonly parts: Map<string, KnownPart>;
  /** Parts whose message is not known yet (the events between were lost): they wait for its role. */
  readonly held: Map<string, AgentPart[]>;
  readonly steps: Map<string, StepUsage>;
  readonly asks: Map<string, "asked" | "replied">;
  /** Event and part types that the translation does not know, with their counts. */
  readonly unknown: Map<string, number>;
}

export interface AgentFailure {
  code: string;
  message: string;
  requestId?: string | undefined;
}

export type AgentEvent = Extract<NumberedEvent, { type: "agent" }>;
export type AgentPart = { id: string; messageID: string; sessionID: string; type: string } & Record<string, unknown>;

export interface KnownMessage {
  role: "user" | "assistant";
  session: string;
  /** False for messages of earlier turns, whose late updates change nothing. */
  ours: boolean;
  /** The summary that a compaction writes: not an answer. */
  summary: boolean;
  providerId: string | null;
  modelId: string | null;
}

export interface KnownPart {
  kind: EntryKind;
  session: string;
  /** The message that it is a part of; null where only the log knows it, after a takeover. */
  message: string | null;
  open: boolean;
  discarded: boolean;
  /** Of text and reasoning: what the log holds. */
  text: string;
  /** Events were lost while it was open: deltas have no offset until a cumulative update says what came before. */
  uncertain: boolean;
  /** Of tool calls, plans and memory notes: what the log holds. */
  body: EntryBody | null;
}

/** What is produced while one event is applied. */
export interface Output {
  changes: LogChange[];
  signals: TurnSignal[];
}

export function initialState(input: {
  root: string;
  userMessageId: string;
  /** The title that is known already, so that it is not reported again. */
  title?: string | null;
}): TranslatorState {
  return {
    root: input.root,
    userMessageId: input.userMessageId,
    lastNumber: 0,
    begun: false,
    quiet: true,
    attempt: 0,
    compacting: false,
    compaction: null,
    title: input.title ?? null,
    error: null,
    children: new Map(),
    unattached: new Map(),
    messages: new Map(),
    parts: new Map(),
    held: new Map(),
    steps: new Map(),
    asks: new Map(),
    unknown: new Map(),
  };
}

/** A row of the turn's log, in the order of their numbers; text that continues has the same key in each row. */
export interface LoggedEntry {
  key: string | null;
  kind: EntryKind;
  open: boolean;
  body: EntryBody;
  /** The key of the tool_call that it stands under. */
  under: string | null;
}

/**
 * For a takeover: what the log holds of a running turn. Events after `appliedEvent` then lead to the
 * log that one uninterrupted translation would have made.
 */
export function restoreState(input: {
  root: string;
  userMessageId: string;
  title?: string | null;
  appliedEvent: number;
  entries: readonly LoggedEntry[];
}): TranslatorState {
  const state = initialState(input);
  state.lastNumber = input.appliedEvent;
  // Its busy may lie before the takeover.
  state.begun = true;
  state.quiet = false;
  state.messages.set(state.userMessageId, {
    role: "user",
    session: state.root,
    ours: true,
    summary: false,
    providerId: null,
    modelId: null,
  });
  const sessionByTask = new Map<string, string>();
  for (const entry of input.entries) {
    if (entry.kind === "ask") rememberAsk(state, entry.body as EntryBody<"ask">);
    if (entry.key === null) continue;
    const session = (entry.under && sessionByTask.get(entry.under)) || state.root;
    if (entry.kind !== "agent_thought" || !entry.open) state.compacting = isCompaction(entry);
    state.parts.set(entry.key, restorePart({ entry, session, before: state.parts.get(entry.key) }));
    const child = entry.kind === "tool_call" ? childOf(entry.body as ToolCallBody) : null;
    if (!child) continue;
    state.children.set(child, entry.key);
    sessionByTask.set(entry.key, child);
  }
  return state;
}

function isCompaction({ kind, body }: LoggedEntry): boolean {
  return kind === "memory-note" && "status" in body && /^compact(ed|ing)$/.test(body.status);
}

/** The child session of a `task`, as its tool_call keeps it. */
export function childOf(body: ToolCallBody): string | null {
  const sessionId = body.tool === "task" ? body.rawOutput?.sessionId : null;
  return typeof sessionId === "string" ? sessionId : null;
}

function restorePart(input: { entry: LoggedEntry; session: string; before: KnownPart | undefined }): KnownPart {
  const { kind, open, body } = input.entry;
  const text = "text" in body ? body.text : "";
  const discarded = "discarded" in body && body.discarded === true;
  return {
    kind,
    session: input.session,
    message: null,
    open: open && !discarded,
    discarded,
    text: (input.before?.text ?? "") + text,
    uncertain: false,
    body: kind === "tool_call" || kind === "plan" || kind === "memory-note" ? body : null,
  };
}

function rememberAsk(state: TranslatorState, ask: EntryBody<"ask">): void {
  state.asks.set(ask.agentRequestId, ask.state === "pending" ? "asked" : "replied");
}
