import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, jsonb, pgPolicy, pgTable, text, uuid } from "drizzle-orm/pg-core";
import type { ModelDetails } from "../../server/protocol/model-details.ts";
import { adminRows, at, createdAt, id, ownRowsOnly, rules, tenantReads, updatedAt } from "./columns.ts";
import { owner, tenants, users } from "./people.ts";

export const tokens = pgTable(
  "tokens",
  {
    id: id(),
    ...owner(),
    type: text("type", { enum: ["user", "sandbox"] }).notNull(),
    name: text("name").notNull().default(""),
    hash: text("hash").notNull().unique(),
    /** Set for type `sandbox`. */
    sandboxId: uuid("sandbox_id"),
    createdAt: createdAt(),
    expiresAt: at("expires_at"),
    lastUsedAt: at("last_used_at"),
    revokedAt: at("revoked_at"),
  },
  () => [ownRowsOnly()],
);

export const providers = pgTable(
  "providers",
  {
    id: id(),
    tenantId: uuid("tenant_id")
      .notNull()
      .references(() => tenants.id, { onDelete: "cascade" }),
    kind: text("kind", { enum: ["openai", "anthropic", "openai-compatible"] }).notNull(),
    name: text("name").notNull(),
    baseUrl: text("base_url").notNull(),
    keyEncrypted: text("key_encrypted"),
    keyEnding: text("key_ending"),
    /** `details` where an admin set them; the catalogue is asked otherwise. */
    models: jsonb("models")
      .$type<{ id: string; name: string; enabled: boolean; details?: ModelDetails }[]>()
      .notNull()
      .default([]),
    lastTest: jsonb("last_test").$type<
      { at: string; ok: true; modelCount: number; milliseconds: number } | { at: string; ok: false; message: string }
    >(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index("providers_tenant").on(table.tenantId), tenantReads(), adminRows()],
);

export const audit = pgTable(
  "audit",
  {
    id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
    tenantId: uuid("tenant_id")
      .notNull()
      .references(() => tenants.id, { onDelete: "cascade" }),
    userId: uuid("user_id").references(() => users.id, { onDelete: "set null" }),
    action: text("action").notNull(),
    subject: text("subject"),
    detail: jsonb("detail").notNull().default({}),
    at: at("at").notNull().defaultNow(),
  },
  (table) => [
    index("audit_tenant").on(table.tenantId, table.at),
    pgPolicy("admin_reads", { for: "select", using: sql`tenant_id = ${rules.tenant} and ${rules.admin}` }),
    pgPolicy("tenant_appends", {
      for: "insert",
      withCheck: sql`tenant_id = ${rules.tenant} and user_id = ${rules.person}`,
    }),
  ],
);

/** Failed sign-ins by account and by address. No policy: reached by definer functions only. */
export const signInLimits = pgTable("sign_in_limits", {
  key: text("key").primaryKey(),
  failures: integer("failures").notNull(),
  windowEndsAt: at("window_ends_at").notNull(),
}).enableRLS();

/** One row: which master key this database belongs to, and since when it has a file store of its own. */
export const installation = pgTable(
  "installation",
  {
    only: boolean("only").primaryKey().default(true),
    masterKeyCheck: text("master_key_check").notNull(),
    createdAt: createdAt(),
    fileStoreClaimedAt: at("file_store_claimed_at"),
  },
  (table) => [check("installation_only", sql`${table.only}`)],
).enableRLS();
