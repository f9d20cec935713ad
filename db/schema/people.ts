import { sql } from "drizzle-orm";
import { index, integer, pgPolicy, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { roles } from "../../server/protocol/roles.ts";
import { adminRows, at, createdAt, id, ownRowsOrAdmin, rules, updatedAt } from "./columns.ts";

export const tenants = pgTable(
  "tenants",
  {
    id: id(),
    name: text("name").notNull(),
    /** Set when an admin agreed that agents run without isolation on this machine. */
    hostConsentAt: at("host_consent_at"),
    /** Null: the demo model answers. No foreign key: a provider's removal clears it in the same transaction. */
    defaultProviderId: uuid("default_provider_id"),
    defaultModelId: text("default_model_id"),
    /** Whether agents act by themselves inside their sandbox, ask a person first, or only read. */
    permissionPolicy: text("permission_policy", { enum: ["allow", "ask", "deny"] })
      .notNull()
      .default("allow"),
    /** What sandboxes may reach of what the server allows: all of it, or the hosts that an admin listed. */
    egressRule: text("egress_rule", { enum: ["public", "listed"] })
      .notNull()
      .default("public"),
    egressHosts: text("egress_hosts").array().notNull().default([]),
    /** Minutes after which an unused sandbox sleeps; 0: never. */
    idleMinutes: integer("idle_minutes").notNull().default(60),
    createdAt: createdAt(),
  },
  () => [
    pgPolicy("tenant_reads", { for: "select", using: sql`id = ${rules.tenant}` }),
    pgPolicy("admin_writes", {
      for: "update",
      using: sql`id = ${rules.tenant} and ${rules.admin}`,
      withCheck: sql`id = ${rules.tenant} and ${rules.admin}`,
    }),
  ],
);

export const users = pgTable(
  "users",
  {
    id: id(),
    tenantId: uuid("tenant_id")
      .notNull()
      .references(() => tenants.id, { onDelete: "cascade" }),
    email: text("email").notNull(),
    name: text("name").notNull(),
    role: text("role", { enum: roles }).notNull(),
    /** Not granted to the application role: read and written by definer functions only. */
    passwordHash: text("password_hash").notNull(),
    disabledAt: at("disabled_at"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    uniqueIndex("users_email").on(sql`lower(${table.email})`),
    index("users_tenant").on(table.tenantId),
    pgPolicy("self_or_admin_reads", {
      for: "select",
      using: sql`tenant_id = ${rules.tenant} and (id = ${rules.person} or ${rules.admin})`,
    }),
    pgPolicy("self_or_admin_writes", {
      for: "update",
      using: sql`tenant_id = ${rules.tenant} and (id = ${rules.person} or ${rules.admin})`,
      withCheck: sql`tenant_id = ${rules.tenant}`,
    }),
  ],
);

/** Whose row it is; it goes with them. */
export const owner = () => ({
  tenantId: uuid("tenant_id")
    .notNull()
    .references(() => tenants.id, { onDelete: "cascade" }),
  userId: uuid("user_id")
    .notNull()
    .references(() => users.id, { onDelete: "cascade" }),
});

export const authSessions = pgTable(
  "auth_sessions",
  {
    id: id(),
    ...owner(),
    userAgent: text("user_agent").notNull().default(""),
    clientAddress: text("client_address").notNull().default(""),
    createdAt: createdAt(),
    lastSeenAt: at("last_seen_at").notNull().defaultNow(),
    expiresAt: at("expires_at").notNull(),
    revokedAt: at("revoked_at"),
  },
  (table) => [index("auth_sessions_user").on(table.userId), ownRowsOrAdmin()],
);

export const invites = pgTable(
  "invites",
  {
    id: id(),
    tenantId: uuid("tenant_id")
      .notNull()
      .references(() => tenants.id, { onDelete: "cascade" }),
    createdBy: uuid("created_by").references(() => users.id, { onDelete: "set null" }),
    role: text("role", { enum: roles }).notNull(),
    note: text("note").notNull().default(""),
    tokenHash: text("token_hash").notNull().unique(),
    createdAt: createdAt(),
    expiresAt: at("expires_at").notNull(),
    usedAt: at("used_at"),
    usedBy: uuid("used_by").references(() => users.id, { onDelete: "set null" }),
    revokedAt: at("revoked_at"),
  },
  () => [adminRows()],
);
