import { sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { toAskRequest } from "../agent/index.ts";
import type { Actor } from "../auth/index.ts";
import { cleanJson } from "../lib/clean-text.ts";
import { type Fence, writeUnderLease } from "../lifecycle/index.ts";
import type { Ask, AskAnswer } from "./index.ts";
import type { OpenTurn } from "./turn-rows.ts";

export interface AskRow {
  askId: string;
  sessionId: string;
  kind: Ask["kind"];
  requestId: string;
  state: Ask["state"];
  request: Record<string, unknown>;
  answer: AskAnswer | null;
}

const columns = sql`id, session_id, kind, agent_request_id, state, body, answer`;

export async function readPolicy(database: Database, actor: Actor): Promise<"allow" | "ask" | "deny"> {
  const [row] = await database.transaction(actor, (tx) =>
    tx.execute(sql`select permission_policy from tenants where id = ${actor.tenantId}`),
  );
  return row?.permission_policy as "allow" | "ask" | "deny";
}

/** Idempotent by the agent's request. From here on the turn waits for a person. */
export async function insertAsk(
  fence: Fence,
  input: { turn: OpenTurn; kind: Ask["kind"]; requestId: string; request: Record<string, unknown> },
): Promise<string> {
  const { turn, kind, requestId, request } = input;
  const { tenantId, userId } = fence.actor;
  const [row] = await writeUnderLease(fence, (tx) =>
    tx.execute(sql`
      with waiting as (
        update turns set waiting_since = coalesce(waiting_since, now()) where id = ${turn.id})
      insert into asks (tenant_id, user_id, session_id, turn_id, kind, agent_request_id, body)
      values (${tenantId}, ${userId}, ${turn.sessionId}, ${turn.id}, ${kind}, ${requestId}, ${cleanJson(request)}::jsonb)
      on conflict (session_id, agent_request_id) do update set agent_request_id = excluded.agent_request_id
      returning id`),
  );
  return String(row?.id);
}

/** The turn goes on, unless something else of it waits for a person: how long it waited is kept. */
export async function endWaiting(fence: Fence, turnId: string): Promise<void> {
  await writeUnderLease(fence, (tx) =>
    tx.execute(sql`
      update turns set waiting_since = null,
        waited_milliseconds = waited_milliseconds + extract(epoch from now() - waiting_since) * 1000
      where id = ${turnId} and waiting_since is not null
        and not exists (select from asks where turn_id = ${turnId} and state = 'pending')`),
  );
}

/** All but those that were withdrawn. */
export async function listTurnAsks(database: Database, actor: Actor, turnId: string): Promise<AskRow[]> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`select ${columns} from asks where turn_id = ${turnId} and state <> 'withdrawn' order by created_at`),
  );
  return rows.map(toAsk);
}

export async function listPendingAsks(database: Database, actor: Actor, sessionId: string): Promise<AskRow[]> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      select ${columns} from asks where session_id = ${sessionId} and state = 'pending' order by created_at limit 100`),
  );
  return rows.map(toAsk);
}

export async function findAsk(database: Database, actor: Actor, askId: string): Promise<AskRow | null> {
  const [row] = await database.transaction(actor, (tx) =>
    tx.execute(sql`select ${columns} from asks where id = ${askId}`),
  );
  return row ? toAsk(row) : null;
}

/** The first answer stays. Null when there is no ask of that kind that waits. */
export async function storeAnswer(
  database: Database,
  actor: Actor,
  { askId, answer }: { askId: string; answer: AskAnswer },
): Promise<AskRow | null> {
  const kind = "reply" in answer ? "permission" : "question";
  const [row] = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      update asks set state = 'answered', answer = ${cleanJson(answer)}::jsonb, answered_at = now()
      where id = ${askId} and kind = ${kind} and state = 'pending' returning ${columns}`),
  );
  return row ? toAsk(row) : null;
}

export async function withdrawAsk(fence: Fence, askId: string): Promise<void> {
  await writeUnderLease(fence, (tx) =>
    tx.execute(sql`update asks set state = 'withdrawn' where id = ${askId} and state = 'pending'`),
  );
}

function toAsk(row: Record<string, unknown>): AskRow {
  const json = (value: unknown) => (typeof value === "string" ? (JSON.parse(value) as unknown) : value);
  return {
    askId: String(row.id),
    sessionId: String(row.session_id),
    kind: row.kind as Ask["kind"],
    requestId: String(row.agent_request_id),
    state: row.state as Ask["state"],
    // As an earlier version stored it, too.
    request: toAskRequest(json(row.body) as Record<string, unknown>),
    answer: json(row.answer) as AskAnswer | null,
  };
}
