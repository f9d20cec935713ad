import { sql } from "drizzle-orm";
import { bigint, check, index, integer, jsonb, pgTable, text, unique, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import {
  type LifecycleVerb,
  lifecycleVerbs,
  type OperationOptions,
  type OperationPhase,
  operationReasons,
  operationStates,
  type PhaseTime,
} from "../../server/protocol/lifecycle-verbs.ts";
import { type SandboxAddress, sandboxStates } from "../../server/protocol/sandbox.ts";
import { archiveKinds, archiveStates } from "../../server/protocol/snapshots.ts";
import { at, createdAt, id, ownRowsOnly, ownRowsOrAdmin, updatedAt } from "./columns.ts";
import { owner } from "./people.ts";

export const sandboxes = pgTable(
  "sandboxes",
  {
    id: id(),
    ...owner(),
    /** The kind of backend that runs it. */
    backend: text("backend").notNull(),
    /** As that backend names it. */
    isolation: text("isolation").notNull(),
    /**
     * The home whose server alone can reach it; null where any server can. `unknown`: made before homes were
     * recorded, and no home that has its files has come since.
     */
    homeId: text("home_id"),
    /** When a person chose to go on with it in this home; what an earlier home began is not taken up again. */
    continuedAt: at("continued_at"),
    /** Set for the sandbox of a `private` session. */
    privateSessionId: uuid("private_session_id"),
    wantedState: text("wanted_state", { enum: sandboxStates }).notNull().default("terminated"),
    observedState: text("observed_state", { enum: sandboxStates }).notNull().default("terminated"),
    stateCause: text("state_cause"),
    /** Every write of the lease owner carries the epoch and changes nothing once it is superseded. */
    leaseOwner: text("lease_owner"),
    leaseEpoch: bigint("lease_epoch", { mode: "number" }).notNull().default(0),
    leaseExpiresAt: at("lease_expires_at"),
    /** Raised by reset: archives of an older epoch are never restored, and a disk of an older one forgets it. */
    historyEpoch: integer("history_epoch").notNull().default(0),
    /** Raised by a reset that takes the files too: workspaces of an older one are removed. */
    filesEpoch: integer("files_epoch").notNull().default(0),
    bootId: uuid("boot_id"),
    bootSecretEncrypted: text("boot_secret_encrypted"),
    tokenEncrypted: text("token_encrypted"),
    /** For its backend alone. */
    address: jsonb("address").$type<SandboxAddress>(),
    /** Hash of the opencode.json that the agent runs with: another one means that it has to restart. */
    agentConfigHash: text("agent_config_hash"),
    lastActiveAt: at("last_active_at"),
    /** It sleeps, and what was done since then is on its disk alone; null where all of it is archived. */
    unsavedSince: at("unsaved_since"),
    /** Minutes after which it sleeps; 0: never. Null: as its tenant has it. */
    idleMinutes: integer("idle_minutes"),
    /** A person wants it awake until then. */
    keepAwakeUntil: at("keep_awake_until"),
    /** Not put to sleep by itself before that: the agent's programs work, or the last try failed. */
    noSleepBefore: at("no_sleep_before"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    // In each home; one that was brought along from another home may stand beside it.
    unique("sandboxes_one_per_home")
      .on(table.userId, table.backend, table.isolation, table.privateSessionId, table.homeId, table.continuedAt)
      .nullsNotDistinct(),
    index("sandboxes_tenant").on(table.tenantId),
    index("sandboxes_idle").on(table.lastActiveAt).where(sql`observed_state = 'running'`),
    ownRowsOrAdmin(),
  ],
);

/** The homes of all servers on this database, each seen every few seconds. No policy: reached by definer functions only. */
export const homes = pgTable("homes", {
  id: text("id").primaryKey(),
  /** The machine's name, for people. */
  machine: text("machine").notNull(),
  seenAt: at("seen_at").notNull().defaultNow(),
}).enableRLS();

const verbsAndPhases = Object.entries(lifecycleVerbs).flatMap(([verb, { phases }]) =>
  phases.map((phase) => `('${verb}', '${phase}')`),
);

export const operations = pgTable(
  "operations",
  {
    id: id(),
    ...owner(),
    sandboxId: uuid("sandbox_id")
      .notNull()
      .references(() => sandboxes.id, { onDelete: "cascade" }),
    verb: text("verb").$type<LifecycleVerb>().notNull(),
    state: text("state", { enum: operationStates }).notNull().default("running"),
    phase: text("phase").$type<OperationPhase>().notNull(),
    cause: text("cause"),
    reason: text("reason", { enum: operationReasons }).notNull().default("needed"),
    /** Null: the server itself. */
    requestedBy: uuid("requested_by"),
    options: jsonb("options").$type<OperationOptions>().notNull().default({}),
    /** Of the holder that runs it; while nobody does, of the last one there was. */
    leaseEpoch: bigint("lease_epoch", { mode: "number" }).notNull(),
    phases: jsonb("phases").$type<PhaseTime[]>().notNull().default([]),
    detail: jsonb("detail").notNull().default({}),
    requestedAt: at("requested_at").notNull().defaultNow(),
    startedAt: at("started_at").defaultNow(),
    /** To be taken up by then, or to be done. */
    deadlineAt: at("deadline_at").notNull(),
    endedAt: at("ended_at"),
  },
  (table) => [
    uniqueIndex("operations_one_open").on(table.sandboxId).where(sql`state in ('requested', 'running')`),
    index("operations_sandbox").on(table.sandboxId, table.requestedAt),
    index("operations_open").on(table.requestedAt).where(sql`state in ('requested', 'running')`),
    check("operations_verb_phase", sql.raw(`("verb", "phase") in (${verbsAndPhases.join(", ")})`)),
    ownRowsOrAdmin(),
  ],
);

export const archives = pgTable(
  "archives",
  {
    id: id(),
    ...owner(),
    sandboxId: uuid("sandbox_id")
      .notNull()
      .references(() => sandboxes.id, { onDelete: "cascade" }),
    /** Set for workspace snapshots. */
    sessionId: uuid("session_id"),
    kind: text("kind", { enum: archiveKinds }).notNull(),
    state: text("state", { enum: archiveStates }).notNull().default("writing"),
    storeKey: text("store_key").notNull().unique(),
    bytes: bigint("bytes", { mode: "number" }),
    sha256: text("sha256"),
    /** How the store itself names the content, where that is not the SHA-256. */
    checksum: text("checksum"),
    /** Why it failed. */
    cause: text("cause"),
    fingerprint: text("fingerprint"),
    manifest: jsonb("manifest").notNull().default({}),
    leaseEpoch: bigint("lease_epoch", { mode: "number" }).notNull(),
    historyEpoch: integer("history_epoch").notNull(),
    createdAt: createdAt(),
    verifiedAt: at("verified_at"),
    /** Somebody wants this snapshot in the session's workspace when it is opened next. */
    restoreRequestedAt: at("restore_requested_at"),
  },
  (table) => [
    index("archives_sandbox").on(table.sandboxId, table.kind, table.createdAt),
    index("archives_session").on(table.sessionId, table.createdAt),
    ownRowsOrAdmin(),
  ],
);

/**
 * Sessions that were removed while their files stood in a sandbox that could not be reached, or was at work on them:
 * whoever runs it next removes what is left. No foreign key: the session is gone.
 */
export const removedWorkspaces = pgTable(
  "removed_workspaces",
  {
    sessionId: uuid("session_id").primaryKey(),
    sandboxId: uuid("sandbox_id")
      .notNull()
      .references(() => sandboxes.id, { onDelete: "cascade" }),
    ...owner(),
    createdAt: createdAt(),
  },
  (table) => [index("removed_workspaces_sandbox").on(table.sandboxId), ownRowsOnly()],
);
