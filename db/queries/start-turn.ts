import type { Database } from "../client.ts";

export interface TurnStart {
  tenantId: string;
  userId: string;
  sessionId: string;
  prompt: string;
  idempotencyKey: string;
  /** To begin it at once, under this lease, with what a takeover has to know of its prompt. */
  ahead: {
    sandboxId: string;
    leaseEpoch: number;
    messageId: string;
    appliedEvent: number;
    bootId: string;
  } | null;
  /** The writing process: it need not hear of its own writes. */
  origin: string;
}

export interface StartedTurnRow {
  /** That of the same key, where there is one; it may have been asked for with other words. Null when the queue is full. */
  turn: Record<string, unknown> | null;
  /** What is to run next in the session. */
  open: Record<string, unknown> | null;
  /** Of its prompt's entry, where it began. */
  begun: { number: number; version: number; at: string } | null;
}

interface Row {
  turn: Record<string, unknown> | null;
  open: Record<string, unknown> | null;
  number: string | null;
  version: string | null;
  at: string;
}

const statement =
  "select turn, open, number::text, version::text, to_json(at) as at from start_turn($1::uuid, $2::uuid, $3::uuid, $4, $5, $6::uuid, $7::bigint, $8, $9::bigint, $10::uuid, $11)";

/** One round trip; see functions/start-turn.sql. Null when there is no such session. */
export async function startTurn(database: Database, start: TurnStart): Promise<StartedTurnRow | null> {
  const [row] = await database.call<Row>(statement, [
    start.tenantId,
    start.userId,
    start.sessionId,
    start.prompt,
    start.idempotencyKey,
    start.ahead?.sandboxId ?? null,
    start.ahead?.leaseEpoch ?? null,
    start.ahead?.messageId ?? null,
    start.ahead?.appliedEvent ?? null,
    start.ahead?.bootId ?? null,
    start.origin,
  ]);
  if (!row) return null;
  const { turn, open, number, version } = row;
  const at = new Date(row.at).toISOString();
  return { turn, open, begun: number === null ? null : { number: Number(number), version: Number(version), at } };
}
