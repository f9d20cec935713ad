import { sql } from "drizzle-orm";
import { pgPolicy, timestamp, uuid } from "drizzle-orm/pg-core";

// The three settings that db/client.ts sets per transaction. After a transaction a setting reads
// as '' and not as null, hence nullif; the sub-select makes Postgres evaluate it once a query.
const tenant = sql`(select nullif(current_setting('dormouse.tenant_id', true), '')::uuid)`;
const person = sql`(select nullif(current_setting('dormouse.user_id', true), '')::uuid)`;
const admin = sql`(select current_setting('dormouse.role', true) = 'admin')`;

export const id = () => uuid("id").primaryKey().defaultRandom();
export const createdAt = () => at("created_at").notNull().defaultNow();
export const updatedAt = () => at("updated_at").notNull().defaultNow();
export const at = (name: string) => timestamp(name, { withTimezone: true, mode: "date", precision: 3 });

/** Rows that only their own person sees; an admin does not. */
export const ownRowsOnly = () => {
  const rule = sql`tenant_id = ${tenant} and user_id = ${person}`;
  return pgPolicy("own_rows_only", { using: rule, withCheck: rule });
};

/** Rows that their person and every admin of the tenant see. */
export const ownRowsOrAdmin = () => {
  const rule = sql`tenant_id = ${tenant} and (user_id = ${person} or ${admin})`;
  return pgPolicy("own_rows_or_admin", { using: rule, withCheck: rule });
};

/** Rows that the whole tenant reads. */
export const tenantReads = () => pgPolicy("tenant_reads", { for: "select", using: sql`tenant_id = ${tenant}` });

/** Rows that admins of the tenant read and write. */
export const adminRows = () => {
  const rule = sql`tenant_id = ${tenant} and ${admin}`;
  return pgPolicy("admin_rows", { using: rule, withCheck: rule });
};

export const rules = { tenant, person, admin };
