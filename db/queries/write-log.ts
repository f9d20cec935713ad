import type { Database } from "../client.ts";
import { errorCode } from "../database-problem.ts";

export interface LogWrite {
  tenantId: string;
  userId: string;
  sessionId: string;
  /** Null before the session has a sandbox: then no lease is looked at. */
  held: { sandboxId: string; leaseEpoch: number } | null;
  /** JSON as write_log describes it; already clean of what Postgres cannot store. */
  changes: string;
  applied: { event: number; bootId: string } | null;
  title: string | null;
  turn: string | null;
  /** The writing process: it need not hear of its own writes. */
  origin: string;
}

const statement =
  "select first_number::text as first, last_version::text as last from write_log($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::bigint, $6, $7::bigint, $8::uuid, $9, $10, $11)";

/** One round trip; see functions/write-log.sql. */
export async function writeLog(
  database: Database,
  write: LogWrite,
): Promise<{ firstNumber: number; lastVersion: number }> {
  const [row] = await database.call<{ first: string; last: string }>(statement, [
    write.tenantId,
    write.userId,
    write.sessionId,
    write.held?.sandboxId ?? null,
    write.held?.leaseEpoch ?? null,
    write.changes,
    write.applied?.event ?? null,
    write.applied?.bootId ?? null,
    write.title,
    write.turn,
    write.origin,
  ]);
  return { firstNumber: Number(row?.first), lastVersion: Number(row?.last) };
}

export type LogRefusal = "lease-superseded" | "turn-moved" | "no-session";

/** Null when the database failed instead of refusing: the write may then even have been done. */
export function logRefusal(error: unknown): LogRefusal | null {
  switch (errorCode(error)) {
    case "DM001":
      return "lease-superseded";
    case "DM002":
    case "23505":
      return "turn-moved";
    case "DM003":
    case "23503":
    case "42501":
      return "no-session";
    default:
      return null;
  }
}
