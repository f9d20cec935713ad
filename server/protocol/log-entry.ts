import { z } from "zod";
import { wakePhaseNames } from "./lifecycle-verbs.ts";
import { turnOutcomes } from "./turn-states.ts";

/**
 * What a session log holds and what viewers receive. Names that the Agent Client Protocol has are
 * taken from it; our own are kebab-case. An entry is replaced as a whole by a newer version of
 * itself, so every delivery may be repeated.
 */
const text = z.object({
  text: z.string(),
  /** The number of the entry whose text this one continues: text closes at 8 KB. */
  continues: z.number().int().optional(),
  /** A try that failed: the agent began the answer again. */
  discarded: z.boolean().optional(),
});

const toolContent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("diff"), path: z.string(), oldText: z.string().nullable(), newText: z.string() }),
  z.object({ type: z.literal("content"), content: z.object({ type: z.literal("text"), text: z.string() }) }),
]);

export const toolKinds = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"] as const;
export const toolStatuses = ["pending", "in_progress", "completed", "failed"] as const;

const toolCall = z.object({
  toolCallId: z.string(),
  /** A row of the tool table (`tools.ts`), or the agent's own name of a tool that is not in it. */
  tool: z.string(),
  title: z.string(),
  /** What it works on: a path, a command, a pattern; empty where nothing is named. Missing in entries stored before. */
  target: z.string().optional(),
  kind: z.enum(toolKinds),
  status: z.enum(toolStatuses),
  rawInput: z.record(z.string(), z.unknown()).optional(),
  rawOutput: z.record(z.string(), z.unknown()).optional(),
  content: z.array(toolContent).default([]),
  locations: z.array(z.object({ path: z.string(), line: z.number().optional() })).default([]),
  error: z.string().optional(),
  /** What the agent says about how it ended, beside what it printed. */
  note: z.string().optional(),
  /** Of a finished shell command. */
  exitCode: z.number().int().nullable().optional(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  discarded: z.boolean().optional(),
});

const plan = z.object({
  entries: z.array(
    z.object({
      content: z.string(),
      status: z.enum(["pending", "in_progress", "completed", "cancelled"]),
      priority: z.enum(["high", "medium", "low"]),
    }),
  ),
});

const ask = z.object({
  askId: z.string(),
  agentRequestId: z.string(),
  kind: z.enum(["permission", "question"]),
  state: z.enum(["pending", "answered", "withdrawn"]),
  /** An `AskRequest`. Rows are old, so readers are tolerant. */
  request: z.record(z.string(), z.unknown()),
  answer: z.unknown().optional(),
});

export const usageBody = z.object({
  /** In dollars; null where the price was not known when the turn ended. */
  cost: z.number().nullable(),
  tokens: z.object({
    input: z.number(),
    output: z.number(),
    reasoning: z.number(),
    cacheRead: z.number(),
    cacheWrite: z.number(),
  }),
  providerId: z.string().nullable(),
  modelId: z.string().nullable(),
  milliseconds: z.number(),
});

/** Between the wake and the agent, where a turn has to wait until its files are restored. */
export const filesPhases = ["restoring-files", "files-ready"] as const;

const sandboxPhase = z.object({
  /** `waiting`: the turn could not be handed to the agent; while the entry is open that is tried again. */
  phase: z.enum([...wakePhaseNames, ...filesPhases, "waiting"]),
  /** While it waits: why. */
  message: z.string(),
  /** Of `waiting`: a turn's failure code, when the next try is due, and how many there were. */
  code: z.string().optional(),
  nextTryAt: z.string().optional(),
  tries: z.number().int().optional(),
});

const failure = { code: z.string().optional(), message: z.string().optional(), requestId: z.string().optional() };

export const entryBodies = {
  prompt: z.object({ text: z.string() }),
  agent_message: text,
  agent_thought: text,
  tool_call: toolCall,
  plan,
  ask,
  usage: usageBody,
  "sandbox-phase": sandboxPhase,
  /** `compacting` until its summary is written; discarded when it never is. */
  "memory-note": z.object({ status: z.string(), message: z.string(), discarded: z.boolean().optional() }),
  /** The agent tries again after `reason`; the entries named are marked as discarded. */
  "parts-discard": z.object({ numbers: z.array(z.number()), attempt: z.number(), reason: z.string() }),
  /** The turns named were taken back: the agent forgets them, and their files are as before. They stay readable. */
  "turn-undo": z.object({ turnIds: z.array(z.string()) }),
  /** They count again. */
  "turn-redo": z.object({ turnIds: z.array(z.string()) }),
  "turn-end": z.object({
    outcome: z.enum(turnOutcomes),
    ...failure,
    /** The agent did not answer when it was told to stop: it may be at work still, until it can be reached. */
    untold: z.boolean().optional(),
    /** Where it is, when that was away. */
    machine: z.string().optional(),
  }),
  error: z.object({ ...failure, message: z.string() }),
} as const;

export type EntryKind = keyof typeof entryBodies;
export type EntryBody<Kind extends EntryKind = EntryKind> = z.infer<(typeof entryBodies)[Kind]>;
export type ToolCallBody = z.infer<typeof toolCall>;
export type ToolContent = z.infer<typeof toolContent>;
export type TextBody = z.infer<typeof text>;

export interface LogEntryOf<Kind extends EntryKind> {
  /** Order within the session. */
  number: number;
  /** Raised by every durable write of any entry of the session. */
  version: number;
  turnId: string | null;
  kind: Kind;
  /** Still growing. */
  open: boolean;
  /** The number of the `tool_call` of a subagent that this entry belongs to. */
  under: number | null;
  /** ISO time of creation. */
  at: string;
  body: EntryBody<Kind>;
}

export type LogEntry = { [Kind in EntryKind]: LogEntryOf<Kind> }[EntryKind];

/** As a page has it. `children`, of a tool call: how many entries are directly `under` it, when it was read. */
export type PageEntry = LogEntry & { children?: number };

/**
 * A part of the log whose entries are all `under` the same tool call, or all at the root; ascending by number.
 * It neither begins nor ends between a text and what continues it.
 */
export interface LogPage {
  entries: PageEntry[];
  /** Of the session: everything written up to it is in what was read. */
  version: number;
  /** The page before this one is read with this as `before`; null when there is none. */
  earlier: number | null;
}

/** Text that was just appended to an open `agent_message` or `agent_thought`. Not durable by itself, so without a version. */
export interface LogDelta {
  number: number;
  /** Length, in UTF-16 units, of the entry's text before this delta. */
  offset: number;
  text: string;
}

export const maxTextPerEntry = 8 * 1024;
