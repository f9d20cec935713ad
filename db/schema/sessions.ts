import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  doublePrecision,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { memoryStatuses } from "../../server/protocol/session-events.ts";
import { turnStates } from "../../server/protocol/turn-states.ts";
import { at, createdAt, id, ownRowsOnly, updatedAt } from "./columns.ts";
import { owner } from "./people.ts";
import { sandboxes } from "./sandboxes.ts";

// Everything here is what a person said to the agent and what it answered: no admin reads it.

export const sessions = pgTable(
  "sessions",
  {
    id: id(),
    ...owner(),
    sandboxId: uuid("sandbox_id").references(() => sandboxes.id, { onDelete: "set null" }),
    title: text("title").notNull().default(""),
    titleFrom: text("title_from", { enum: ["default", "agent", "person"] })
      .notNull()
      .default("default"),
    /** Fixed at creation (ARCHITECTURE.md, invariant 16); null until the first turn chooses the sandbox. */
    isolation: text("isolation"),
    agentSessionId: text("agent_session_id"),
    agentDirectory: text("agent_directory"),
    /** The session's counters: the last entry's number, and the version raised by every durable write. */
    lastNumber: bigint("last_number", { mode: "number" }).notNull().default(0),
    version: bigint("version", { mode: "number" }).notNull().default(0),
    /** The last numbered agent event whose effects are in the log, and the boot it was numbered in. */
    appliedEvent: bigint("applied_event", { mode: "number" }).notNull().default(0),
    appliedBoot: uuid("applied_boot"),
    memoryStatus: text("memory_status", { enum: memoryStatuses }).notNull().default("fresh"),
    memoryCause: text("memory_cause"),
    memoryAt: at("memory_at"),
    /** Why the agent may know less than the log since the last turn; looked into, and told, with the next one. */
    memoryDoubt: text("memory_doubt"),
    /** An ended turn's agent could not be told to stop, in that boot of the sandbox; null once it was seen idle. */
    abortUnconfirmedAt: at("abort_unconfirmed_at"),
    abortBoot: uuid("abort_boot"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index("sessions_person").on(table.userId, table.updatedAt),
    index("sessions_unconfirmed_abort").on(table.sandboxId).where(sql`abort_unconfirmed_at is not null`),
    ownRowsOnly(),
  ],
);

export const turns = pgTable(
  "turns",
  {
    id: id(),
    ...owner(),
    sessionId: uuid("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    /** `joined`: sent into a running turn; it ends with its host (ARCHITECTURE.md, invariant 13). */
    state: text("state", { enum: turnStates }).notNull().default("queued"),
    /** What else is exclusive with prompts: a summary of the conversation, and taking turns back. */
    kind: text("kind", { enum: ["prompt", "compact", "undo", "redo"] })
      .notNull()
      .default("prompt"),
    position: doublePrecision("position").notNull(),
    prompt: text("prompt").notNull(),
    /** Raised by every edit: a turn begins with the prompt that was read, or not at all. */
    revision: integer("revision").notNull().default(0),
    /** While it is queued: it joins the running turn as soon as that can take it. */
    sendNowAt: at("send_now_at"),
    idempotencyKey: text("idempotency_key").notNull(),
    /** SHA-256 of the words that came with the key; the prompt may be edited since. Null of turns older than this column. */
    requestHash: text("request_hash"),
    hostTurnId: uuid("host_turn_id"),
    /** Our own ascending id of the user's message in opencode: the retry key. */
    agentMessageId: text("agent_message_id"),
    stopRequestedAt: at("stop_requested_at"),
    failureCode: text("failure_code"),
    failureMessage: text("failure_message"),
    providerId: text("provider_id"),
    modelId: text("model_id"),
    /** In dollars; null where the price was not known when the turn ended. */
    cost: numeric("cost", { mode: "number" }).default(0),
    tokensInput: bigint("tokens_input", { mode: "number" }).notNull().default(0),
    tokensOutput: bigint("tokens_output", { mode: "number" }).notNull().default(0),
    tokensReasoning: bigint("tokens_reasoning", { mode: "number" }).notNull().default(0),
    tokensCacheRead: bigint("tokens_cache_read", { mode: "number" }).notNull().default(0),
    tokensCacheWrite: bigint("tokens_cache_write", { mode: "number" }).notNull().default(0),
    queuedAt: at("queued_at").notNull().defaultNow(),
    startedAt: at("started_at"),
    endedAt: at("ended_at"),
    /** How often it could not be handed to the agent so far, and when that is tried again. */
    tries: integer("tries").notNull().default(0),
    nextTryAt: at("next_try_at"),
    /** How long the agent waited for a person, up to `waitingSince`: that time is not the turn's. */
    waitedMilliseconds: bigint("waited_milliseconds", { mode: "number" }).notNull().default(0),
    /** Set while the agent waits for a person. */
    waitingSince: at("waiting_since"),
    /** Taken back: neither the agent's memory nor its files know it any more. */
    undoneAt: at("undone_at"),
  },
  (table) => [
    uniqueIndex("turns_idempotency").on(table.sessionId, table.idempotencyKey),
    uniqueIndex("turns_one_running").on(table.sessionId).where(sql`state = 'running'`),
    index("turns_host").on(table.hostTurnId).where(sql`host_turn_id is not null`),
    index("turns_queue").on(table.sessionId, table.position).where(sql`state = 'queued'`),
    ownRowsOnly(),
  ],
);

export const logEntries = pgTable(
  "log_entries",
  {
    sessionId: uuid("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    number: bigint("number", { mode: "number" }).notNull(),
    version: bigint("version", { mode: "number" }).notNull(),
    ...owner(),
    turnId: uuid("turn_id").references(() => turns.id, { onDelete: "set null" }),
    kind: text("kind").notNull(),
    /** opencode's part id, by which a turn that is taken over finds its entries again. */
    key: text("key"),
    /** The number of the `tool_call` of the subagent that this entry belongs to. */
    under: bigint("under", { mode: "number" }),
    open: boolean("open").notNull().default(false),
    body: jsonb("body").notNull(),
    /** The finished opencode message or part as it was: the source for replay. */
    verbatim: jsonb("verbatim"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.sessionId, table.number] }),
    index("log_entries_turn").on(table.turnId),
    // Pages of what stands at the root or under one tool call, and how many that are.
    index("log_entries_under").on(table.sessionId, table.under, table.number),
    uniqueIndex("log_entries_version").on(table.sessionId, table.version),
    ownRowsOnly(),
  ],
);

export const asks = pgTable(
  "asks",
  {
    id: id(),
    ...owner(),
    sessionId: uuid("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    turnId: uuid("turn_id").references(() => turns.id, { onDelete: "cascade" }),
    kind: text("kind", { enum: ["permission", "question"] }).notNull(),
    agentRequestId: text("agent_request_id").notNull(),
    state: text("state", { enum: ["pending", "answered", "withdrawn"] })
      .notNull()
      .default("pending"),
    body: jsonb("body").notNull(),
    answer: jsonb("answer"),
    createdAt: createdAt(),
    answeredAt: at("answered_at"),
  },
  (table) => [uniqueIndex("asks_agent_request").on(table.sessionId, table.agentRequestId), ownRowsOnly()],
);
