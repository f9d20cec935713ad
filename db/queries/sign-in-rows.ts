import { sql } from "drizzle-orm";
import type { TenantId, UserId } from "../../server/protocol/ids.ts";
import type { Role } from "../../server/protocol/roles.ts";
import type { Database, Transaction } from "../client.ts";

export interface SignInCandidate {
  userId: UserId;
  tenantId: TenantId;
  role: Role;
  passwordHash: string;
  disabled: boolean;
}

export async function findSignInCandidate(tx: Transaction, email: string): Promise<SignInCandidate | null> {
  const rows = await tx.execute(
    sql`select user_id as "userId", tenant_id as "tenantId", role, password_hash as "passwordHash", disabled
      from sign_in_candidate(${email})`,
  );
  return (rows[0] as unknown as SignInCandidate | undefined) ?? null;
}

export interface ViewerRow {
  userId: UserId;
  tenantId: TenantId;
  role: Role;
  email: string;
  name: string;
  tenantName: string;
  seenAt: Date;
}

/** Asked by every request, hence in one round trip. */
export async function findViewerRow(database: Database, authSessionId: string): Promise<ViewerRow | null> {
  const [row] = await database.call<Omit<ViewerRow, "seenAt"> & { seenAt: string | Date }>(
    `select user_id as "userId", tenant_id as "tenantId", role, email, name, tenant_name as "tenantName",
      seen_at as "seenAt" from find_viewer($1::uuid)`,
    [authSessionId],
    { repeatable: true },
  );
  return row ? { ...row, seenAt: new Date(row.seenAt) } : null;
}

/** Seconds to wait, 0 when the attempt may go on. */
export async function countAttempt(
  tx: Transaction,
  { key, allowed, windowSeconds }: { key: string; allowed: number; windowSeconds: number },
): Promise<number> {
  const rows = await tx.execute(sql`select count_attempt(${key}, ${allowed}, ${windowSeconds}) as seconds`);
  return Number(rows[0]?.seconds);
}

export async function forgetAttempts(tx: Transaction, key: string): Promise<void> {
  await tx.execute(sql`select forget_attempts(${key})`);
}
