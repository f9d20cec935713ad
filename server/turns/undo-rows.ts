import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import { type Fence, writeUnderLease } from "../lifecycle/index.ts";
import { turnOutcomes } from "../protocol/turn-states.ts";
import type { Turn } from "./index.ts";
import { fullQueue, isQueueFull } from "./queue-limits.ts";
import { states, type TurnRow, toTurn, turnColumns } from "./turn-rows.ts";

/** Turns in the order in which the agent heard them; those that joined another one came after it. */
const heard = sql`kind in ('prompt', 'compact') and started_at is not null`;

/** A prompt that the agent got, and has not been told to forget. */
const canBeUndone = sql`kind = 'prompt' and host_turn_id is null and agent_message_id is not null and undone_at is null`;

/** Nobody knows yet whether it did what it was to do: the next turn that finishes has found out. */
const unknownUndo = sql`kind = 'undo' and failure_code = 'unknown' and not exists (
  select from turns later where later.session_id = turns.session_id and later.state in ${states("finished")}
    and later.ended_at > turns.ended_at)`;

/** What was undone can be brought back until the agent hears something new. */
const canBeRedone = (session: SQL) => sql`undone_at is not null and not exists (
  select from turns later where later.session_id = ${session} and later.kind in ('prompt', 'compact')
    and later.state in ${states(...turnOutcomes)} and later.started_at > turns.undone_at)`;

const needs = {
  compact: sql`${canBeUndone}`,
  undo: sql`${canBeUndone}`,
  redo: sql`(${canBeRedone(sql`turns.session_id`)} or ${unknownUndo})`,
} as const;

/**
 * `busy`: something runs or waits; `nothing`: there is nothing to do it with. The same key gives the same turn, or
 * is `reused` where another was asked for with it.
 */
export async function insertOtherTurn(
  database: Database,
  actor: Actor,
  input: { sessionId: string; kind: "compact" | "undo" | "redo"; idempotencyKey: string },
): Promise<Turn | "busy" | "nothing" | "unknown" | "reused"> {
  const { sessionId, kind, idempotencyKey } = input;
  return database.transaction(actor, async (tx) => {
    const [session] = await tx.execute(sql`select sandbox_id from sessions where id = ${sessionId} for no key update`);
    if (!session) return "unknown";
    // As in start_turn.
    await tx.execute(sql`select from sandboxes where id = ${session.sandbox_id} for key share`);
    const [known] = await tx.execute<TurnRow>(sql`
      select ${turnColumns} from turns where session_id = ${sessionId} and idempotency_key = ${idempotencyKey}`);
    if (known) return known.kind === kind ? toTurn(known) : "reused";
    const open = await tx.execute(sql`
      select from turns where session_id = ${sessionId} and state in ${states("queued", "running")} limit 1`);
    // A summary may wait for its turn; what it summarises need not be there yet.
    if (open.length > 0 && kind !== "compact") return "busy";
    const found = await tx.execute(sql`select from turns where session_id = ${sessionId} and ${needs[kind]} limit 1`);
    if (found.length === 0 && open.length === 0) return "nothing";
    if (await isQueueFull(tx, { sessionId, adds: { turns: 1, bytes: 0 } })) throw fullQueue();
    const [made] = await tx.execute<TurnRow>(sql`
      insert into turns (tenant_id, user_id, session_id, kind, prompt, idempotency_key, position)
      values (${actor.tenantId}, ${actor.userId}, ${sessionId}, ${kind}, '', ${idempotencyKey},
        coalesce((select max(position) from turns where session_id = ${sessionId}), 0) + 1)
      returning ${turnColumns}`);
    return toTurn(made as TurnRow);
  });
}

/** The last prompt's turn, and all that the agent heard since. Null when there is none. */
export async function findUndoable(
  database: Database,
  actor: Actor,
  sessionId: string,
): Promise<{ agentMessageId: string; turnIds: string[] } | null> {
  return database.transaction(actor, async (tx) => {
    const [target] = await tx.execute(sql`
      select id, agent_message_id, started_at::text as started_at from turns
      where session_id = ${sessionId} and ${canBeUndone} and state in ${states(...turnOutcomes)}
      order by started_at desc limit 1`);
    if (!target) return null;
    const rows = await tx.execute(sql`
      select id from turns where session_id = ${sessionId} and ${heard} and undone_at is null
        and state in ${states(...turnOutcomes)} and started_at >= ${String(target.started_at)}::timestamptz order by started_at`);
    return { agentMessageId: String(target.agent_message_id), turnIds: rows.map(({ id }) => String(id)) };
  });
}

export async function listRedoable(database: Database, actor: Actor, sessionId: string): Promise<string[]> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      select id from turns where session_id = ${sessionId} and ${canBeRedone(sql`turns.session_id`)}
      order by started_at`),
  );
  return rows.map(({ id }) => String(id));
}

/** Kinds of the turns that ended otherwise than finished since the last one that did: the agent may know better. */
export async function listUnfinished(
  database: Database,
  actor: Actor,
  { id, sessionId }: { id: string; sessionId: string },
): Promise<Turn["kind"][]> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute<{ kind: Turn["kind"] }>(sql`
      select distinct kind from turns where session_id = ${sessionId} and id <> ${id}
        and state in ${states("stopped", "failed")} and ended_at > coalesce((
          select max(ended_at) from turns where session_id = ${sessionId} and state in ${states("finished")}), '-infinity')`),
  );
  return rows.map(({ kind }) => kind);
}

/** What an undo or redo did, found out after its end. As of that end, since a turn may have begun meanwhile. */
export async function storeReversal(
  fence: Fence,
  { sessionId, undone, redone }: { sessionId: string; undone?: string[] | undefined; redone?: string[] | undefined },
): Promise<void> {
  const turnIds = sql.join(
    (undone ?? redone ?? []).map((id) => sql`${id}::uuid`),
    sql`, `,
  );
  const when = sql`(select max(ended_at) from turns where session_id = ${sessionId} and kind = 'undo'
    and state in ${states("stopped", "failed")})`;
  await writeUnderLease(fence, (tx) =>
    tx.execute(sql`
      update turns set undone_at = ${undone ? when : sql`null`} where session_id = ${sessionId} and id in (${turnIds})`),
  );
}
