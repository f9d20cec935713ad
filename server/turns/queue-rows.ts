import { sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import type { Turn, TurnKey } from "./index.ts";
import { fullQueue, isQueueFull } from "./queue-limits.ts";
import { states, type TurnRow, toTurn, turnColumns } from "./turn-rows.ts";

/** What came of a change to a turn that has to wait still. */
export type QueueOutcome = Turn | "begun" | "unknown";

export async function findTurn(database: Database, actor: Actor, key: TurnKey): Promise<Turn | null> {
  const row = await database.transaction(actor, (tx) => readTurn(tx, key));
  return row ? toTurn(row) : null;
}

export interface QueueChange {
  prompt?: string | undefined;
  /** Another turn that waits; null for the end. */
  before?: string | null | undefined;
}

/**
 * Other words, another place, or both: all of it or nothing. Nothing is changed when the turn, or the one that it
 * would come before, does not wait any more. The revision keeps a runner that has read the old words from beginning
 * with them.
 */
export async function changeQueued(
  database: Database,
  actor: Actor,
  { prompt, before, ...key }: TurnKey & QueueChange,
): Promise<QueueOutcome> {
  return change(database, actor, key, async (tx) => {
    await lockSession(tx, key.sessionId);
    const waiting = await tx.execute<WaitingRow>(sql`
      select id, kind, position from turns where session_id = ${key.sessionId} and state in ${states("queued")}
      order by send_now_at, position for update`);
    const changed = waiting.find(({ id }) => id === key.turnId);
    if (!changed || (prompt !== undefined && changed.kind !== "prompt")) return [];
    const order = before === undefined ? waiting : reordered(waiting, changed, before);
    if (!order) return [];
    if (prompt !== undefined) await storeWords(tx, { ...key, prompt });
    // The waiting turns share out the positions that they have, so that none ever gets too close to another.
    for (const [index, { id }] of order.entries()) {
      const held = waiting[index];
      if (held && held.id !== id) {
        await tx.execute(sql`update turns set position = ${Number(held.position)} where id = ${id}`);
      }
    }
    return readQueued(tx, key);
  });
}

interface WaitingRow extends Record<string, unknown> {
  id: string;
  kind: Turn["kind"];
  position: number;
}

/** Null when the one that it would come before does not wait. */
function reordered(waiting: readonly WaitingRow[], moved: WaitingRow, before: string | null): WaitingRow[] | null {
  const others = waiting.filter((turn) => turn !== moved);
  const target = before === null ? others.length : others.findIndex(({ id }) => id === before);
  return target < 0 ? null : others.toSpliced(target, 0, moved);
}

async function storeWords(tx: Transaction, { sessionId, turnId, prompt }: TurnKey & { prompt: string }): Promise<void> {
  const adds = { turns: 1, bytes: Buffer.byteLength(prompt) };
  if (await isQueueFull(tx, { sessionId, adds, besides: sql`id <> ${turnId}` })) throw fullQueue();
  await tx.execute(sql`update turns set prompt = ${prompt}, revision = revision + 1 where id = ${turnId}`);
}

export async function deleteQueued(database: Database, actor: Actor, key: TurnKey): Promise<QueueOutcome> {
  return change(database, actor, key, (tx) =>
    tx.execute<TurnRow>(sql`
      delete from turns where id = ${key.turnId} and session_id = ${key.sessionId} and state in ${states("queued")}
      returning ${turnColumns}`),
  );
}

/** To be taken into the turn that runs; should that end before, it is the next to begin. */
export async function markSendNow(database: Database, actor: Actor, key: TurnKey): Promise<QueueOutcome> {
  return change(database, actor, key, (tx) =>
    tx.execute<TurnRow>(sql`
      update turns set send_now_at = coalesce(send_now_at, now())
      where id = ${key.turnId} and session_id = ${key.sessionId} and state in ${states("queued")} and kind = 'prompt'
      returning ${turnColumns}`),
  );
}

async function change(
  database: Database,
  actor: Actor,
  key: TurnKey,
  work: (tx: Transaction) => Promise<TurnRow[]>,
): Promise<QueueOutcome> {
  return database.transaction(actor, async (tx) => {
    const [row] = await work(tx);
    if (row) return toTurn(row);
    return (await readTurn(tx, key)) ? "begun" : "unknown";
  });
}

async function readTurn(tx: Transaction, { sessionId, turnId }: TurnKey): Promise<TurnRow | undefined> {
  const [row] = await tx.execute<TurnRow>(
    sql`select ${turnColumns} from turns where id = ${turnId} and session_id = ${sessionId}`,
  );
  return row;
}

async function readQueued(tx: Transaction, key: TurnKey): Promise<TurnRow[]> {
  const row = await readTurn(tx, key);
  return row ? [row] : [];
}

/** Two changes of the order at once would mix. */
async function lockSession(tx: Transaction, sessionId: string): Promise<void> {
  await tx.execute(sql`select from sessions where id = ${sessionId} for no key update`);
}
