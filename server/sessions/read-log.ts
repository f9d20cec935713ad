import { type SQL, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/client.ts";
import { upgradeEntryBody } from "../agent/index.ts";
import type { Actor } from "../auth/index.ts";
import { sessionId as sessionIdSchema } from "../protocol/ids.ts";
import { queueHead, queueLimits } from "../protocol/limits.ts";
import type { EntryBody, EntryKind, LogEntry } from "../protocol/log-entry.ts";
import type { QueuedTurn, SessionState } from "../protocol/session-events.ts";

const maxRowsAtOnce = 500;

export interface EntryRow extends Record<string, unknown> {
  number: string | null;
  version: string;
  turn_id: string | null;
  kind: string;
  open: boolean;
  under: string | null;
  at: Date | string;
  body: unknown;
  key: string | null;
}

/**
 * What a writer that takes over a turn has to know. The session's row is locked for a moment: a
 * superseded writer has either finished its batch by then or will be refused.
 */
export async function readTurnEntries(
  database: Database,
  { actor, sessionId, turnId }: { actor: Actor; sessionId: string; turnId: string | null },
): Promise<{ entries: (LogEntry & { key: string })[]; version: number; lastNumber: number } | null> {
  return database.transaction(actor, async (tx) => {
    const [session] = await tx.execute<{ version: string; last_number: string }>(
      sql`select version, last_number from sessions where id = ${sessionId} for update`,
    );
    if (!session) return null;
    const rows = turnId ? await keyedEntries(tx, sessionId, turnId) : [];
    return {
      entries: rows.map((row) => ({ ...toEntry(row), key: row.key ?? "" })),
      version: Number(session.version),
      lastNumber: Number(session.last_number),
    };
  });
}

/** The writer needs all of them, but no answer of the database has to hold them all. */
async function keyedEntries(tx: Transaction, sessionId: string, turnId: string): Promise<EntryRow[]> {
  const all: EntryRow[] = [];
  for (let after = 0; ; after = Number(all.at(-1)?.number)) {
    const page = await tx.execute<EntryRow>(sql`
      select number, version, turn_id, kind, open, under, body, key, created_at as at from log_entries
      where session_id = ${sessionId} and turn_id = ${turnId} and key is not null and number > ${after}
      order by number limit ${maxRowsAtOnce}`);
    all.push(...page);
    if (page.length < maxRowsAtOnce) return all;
  }
}

export function toEntry(row: EntryRow): LogEntry {
  return {
    number: Number(row.number),
    version: Number(row.version),
    turnId: row.turn_id,
    kind: row.kind,
    open: row.open,
    under: row.under === null ? null : Number(row.under),
    at: new Date(row.at).toISOString(),
    body: upgradeEntryBody(row.kind as EntryKind, row.body as EntryBody),
  } as LogEntry;
}

export async function readState(
  database: Database,
  actor: Actor,
  { sessionId, homeId }: { sessionId: string; homeId: string | null },
): Promise<SessionState | null> {
  if (!sessionIdSchema.safeParse(sessionId).success) return null;
  const [row] = await database.transaction(actor, (tx) =>
    tx.execute<StateRow>(sql`
      select s.id, s.title, s.memory_status, s.memory_cause, s.memory_at, b.observed_state, b.state_cause,
        b.home_id <> ${homeId ?? ""} and coalesce(h.is_away, true) as away, h.machine, h.seen_at,
        k.saved_at, k.restoring, n.cause as save_problem,
        n.state = 'writing' and n.lease_epoch = b.lease_epoch and b.observed_state = 'running' as saving,
        r.id as running_id, r.stop_requested_at is not null as stopping,
        coalesce(w.head, '[]') as queue, coalesce(w.rest, '[]') as queue_rest
      from sessions s left join sandboxes b on b.id = s.sandbox_id left join list_homes() h on h.home_id = b.home_id
        left join turns r on r.session_id = s.id and r.state = 'running'
        left join lateral (select jsonb_agg(q.turn order by q.place) filter (where q.place <= ${queueHead.turns}) as head,
          jsonb_agg(q.id order by q.place) filter (where q.place > ${queueHead.turns}) as rest
          from (${waiting(queueHead.turns, sql`s.id`)}) q) w on true
        left join lateral (select max(a.created_at) filter (where a.state = 'verified') as saved_at,
          bool_or(a.restore_requested_at is not null) as restoring
          from archives a where a.session_id = s.id and a.kind = 'workspace') k on true
        left join lateral (select a.state, a.cause, a.lease_epoch from archives a
          where a.session_id = s.id and a.kind = 'workspace' order by a.created_at desc, a.id desc limit 1) n on true
      where s.id = ${sessionId}`),
  );
  if (!row) return null;
  return {
    id: row.id,
    title: row.title || "New session",
    runningTurnId: row.running_id,
    stopRequested: row.stopping,
    queue: fromJson(row.queue).map(toQueued),
    queueRest: fromJson(row.queue_rest),
    sandbox: {
      state: row.observed_state ?? "none",
      cause: row.state_cause,
      away: row.away ? { machine: row.machine, since: moment(row.seen_at) } : null,
    },
    memory: {
      status: row.memory_status,
      cause: row.memory_cause,
      at: moment(row.memory_at),
    },
    recovery: {
      savedAt: moment(row.saved_at),
      // One that a dead server left behind is no longer being written.
      saving: row.saving ?? false,
      problem: row.save_problem,
      restoring: row.restoring ?? false,
    },
  };
}

/** All that waits. Null when the session is unknown or another person's. */
export async function readQueue(database: Database, actor: Actor, sessionId: string): Promise<QueuedTurn[] | null> {
  if (!sessionIdSchema.safeParse(sessionId).success) return null;
  const [row] = await database.transaction(actor, (tx) =>
    tx.execute<{ queue: QueuedTurn[] | string }>(sql`
      select coalesce((select jsonb_agg(q.turn order by q.place)
        from (${waiting(queueLimits.maxTurns, sql`s.id`)}) q where q.turn is not null), '[]') as queue
      from sessions s where s.id = ${sessionId}`),
  );
  return row ? fromJson(row.queue).map(toQueued) : null;
}

/** The turns that wait, in their order, the first `shown` of them with what is shown of a turn. */
function waiting(shown: number, session: SQL): SQL {
  const head = sql`left(prompt, ${queueHead.characters})`;
  return sql`select id, row_number() over by_place as place,
    case when row_number() over by_place <= ${shown} then jsonb_build_object('id', id, 'kind', kind,
      'sendNow', send_now_at is not null, 'prompt', ${head}, 'isCut', octet_length(prompt) > octet_length(${head}),
      'queuedAt', queued_at) end as turn
    from turns where session_id = ${session} and state = 'queued' window by_place as (order by send_now_at, position)`;
}

function fromJson<Value>(value: Value | string): Value {
  return typeof value === "string" ? (JSON.parse(value) as Value) : value;
}

function toQueued(turn: QueuedTurn): QueuedTurn {
  return { ...turn, queuedAt: new Date(turn.queuedAt).toISOString() };
}

function moment(value: Date | string | null): string | null {
  return value === null ? null : new Date(value).toISOString();
}

interface StateRow extends Record<string, unknown> {
  id: string;
  title: string;
  running_id: string | null;
  stopping: boolean;
  queue: QueuedTurn[] | string;
  queue_rest: string[] | string;
  observed_state: Exclude<SessionState["sandbox"]["state"], "none"> | null;
  state_cause: string | null;
  away: boolean | null;
  machine: string | null;
  seen_at: Date | string | null;
  memory_status: SessionState["memory"]["status"];
  memory_cause: string | null;
  memory_at: Date | string | null;
  saved_at: Date | string | null;
  saving: boolean | null;
  save_problem: string | null;
  restoring: boolean | null;
}
