import { sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import type { Turn, TurnKey } from "./index.ts";
import { states, type TurnRow, toTurn, turnColumns } from "./turn-rows.ts";

/** What came of a change to a turn that has to wait still. */
export type QueueOutcome = Turn | "begun" | "unknown";

export async function findTurn(database: Database, actor: Actor, key: TurnKey): Promise<Turn | null> {
  const row = await database.transaction(actor, (tx) => readTurn(tx, key));
  return row ? toTurn(row) : null;
}

/** The revision keeps a runner that has read the old words from beginning with them. */
export async function editQueued(
  database: Database,
  actor: Actor,
  { prompt, ...key }: TurnKey & { prompt: string },
): Promise<QueueOutcome> {
  return change(database, actor, key, (tx) =>
    tx.execute<TurnRow>(sql`
      update turns set prompt = ${prompt}, revision = revision + 1
      where id = ${key.turnId} and session_id = ${key.sessionId} and state in ${states("queued")} and kind = 'prompt'
      returning ${turnColumns}`),
  );
}

/**
 * The waiting turns share out the positions that they have, so that none ever gets too close to another.
 * Nothing moves when one of the two does not wait any more.
 */
export async function moveQueued(
  database: Database,
  actor: Actor,
  { before, ...key }: TurnKey & { before: string | null },
): Promise<QueueOutcome> {
  return change(database, actor, key, async (tx) => {
    await lockSession(tx, key.sessionId);
    const waiting = await tx.execute<{ id: string; position: number }>(sql`
      select id, position from turns where session_id = ${key.sessionId} and state in ${states("queued")}
      order by send_now_at, position for update`);
    const ids = waiting.map(({ id }) => id);
    const others = ids.filter((id) => id !== key.turnId);
    const target = before === null ? others.length : others.indexOf(before);
    if (!ids.includes(key.turnId) || target < 0) return [];
    others.splice(target, 0, key.turnId);
    const positions = waiting.map(({ position }) => Number(position));
    for (const [index, id] of others.entries()) {
      if (ids[index] === id) continue;
      await tx.execute(sql`update turns set position = ${positions[index]} where id = ${id}`);
    }
    return readQueued(tx, key);
  });
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
