import { sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import { type Fence, writeUnderLease } from "../lifecycle/index.ts";
import { tenantId, userId } from "../protocol/ids.ts";
import type { SessionState } from "../protocol/session-events.ts";
import type { TurnState } from "../protocol/turn-states.ts";
import type { Turn, TurnPage } from "./index.ts";
import type { Prompting } from "./turn-context.ts";

/** A turn that waits or runs, with what its session knows of the agent. */
export interface OpenTurn {
  id: string;
  sessionId: string;
  kind: Turn["kind"];
  state: Extract<TurnState, "queued" | "running">;
  prompt: string;
  revision: number;
  startedAt: Date | null;
  agentMessageId: string | null;
  stopRequested: boolean;
  title: string | null;
  titleFrom: "default" | "agent" | "person";
  agentSessionId: string | null;
  agentDirectory: string | null;
  appliedEvent: number;
  appliedBoot: string | null;
  sandboxId: string | null;
  /** Who holds the sandbox's lease at this moment. */
  leaseOwner: string | null;
  /** The home that alone can run the sandbox; null where any server can. */
  homeId: string | null;
  /** It was handed to the agent of a home in which the sandbox does not go on. */
  leftBehind: boolean;
  /** How long the agent has waited for a person, up to now. */
  waitedMilliseconds: number;
  /** How often it could not be handed to the agent. */
  tries: number;
  nextTryAt: Date | null;
  /** The agent may be at work still on a turn of the session that has ended. */
  abortUnconfirmed: boolean;
}

export type TurnRow = Record<string, unknown>;

/** For `state in …`. Written out and not passed: only then are the indexes of a state used. */
export function states(...names: readonly TurnState[]) {
  return sql.raw(`('${names.join("', '")}')`);
}

export const turnColumns = sql`id, session_id, kind, state, prompt, failure_code, failure_message, host_turn_id,
  send_now_at, queued_at, started_at, ended_at, undone_at, provider_id, model_id, cost, tokens_input, tokens_output,
  tokens_reasoning, tokens_cache_read, tokens_cache_write`;

export async function listTurns(
  database: Database,
  actor: Actor,
  { sessionId, before, limit }: { sessionId: string; before: string | null; limit: number },
): Promise<TurnPage> {
  const older = before
    ? sql`position < (select position from turns where id = ${before} and session_id = ${sessionId})`
    : sql`true`;
  const rows = await database.transaction(actor, (tx) =>
    tx.execute<TurnRow>(sql`
      select ${turnColumns} from turns where session_id = ${sessionId} and ${older}
      order by position desc limit ${limit + 1}`),
  );
  const turns = rows.slice(0, limit).map(toTurn).reverse();
  return { turns, earlier: rows.length > limit ? (turns[0]?.id ?? null) : null };
}

/** The running turn, else the first that waits. */
export async function findOpenTurn(database: Database, actor: Actor, sessionId: string): Promise<OpenTurn | null> {
  const [row] = await database.transaction(actor, (tx) => tx.execute<TurnRow>(selectOpenTurn(sessionId)));
  return row ? toOpenTurn(row) : null;
}

const selectOpenTurn = (sessionId: string) => sql`
      select t.id, t.session_id, t.kind, t.state, t.prompt, t.revision, t.started_at, t.agent_message_id,
        t.stop_requested_at is not null as stop_requested, s.title, s.title_from, s.agent_session_id,
        s.agent_directory, s.applied_event, s.applied_boot, s.sandbox_id, t.tries, t.next_try_at,
        s.abort_unconfirmed_at is not null as abort_unconfirmed,
        case when b.lease_expires_at > now() then b.lease_owner end as lease_owner, b.home_id,
        t.agent_message_id is not null and t.started_at < b.continued_at as left_behind,
        t.waited_milliseconds + coalesce(extract(epoch from now() - t.waiting_since) * 1000, 0) as waited_milliseconds
      from turns t join sessions s on s.id = t.session_id left join sandboxes b on b.id = s.sandbox_id
      where t.session_id = ${sessionId} and t.state in ${states("running", "queued")}
      order by t.state in ${states("running")} desc, t.send_now_at, t.position limit 1`;

/** Of the running turn, else of the first that waits. Null when there is none. */
export async function requestStop(database: Database, actor: Actor, sessionId: string): Promise<string | null> {
  const [row] = await database.transaction(actor, (tx) =>
    tx.execute<TurnRow>(sql`
      update turns set stop_requested_at = coalesce(stop_requested_at, now())
      where id = (select id from turns where session_id = ${sessionId} and state in ${states("running", "queued")}
          order by state in ${states("running")} desc, send_now_at, position limit 1)
        and state in ${states("running", "queued")} returning id`),
  );
  return row ? String(row.id) : null;
}

/** Whether its running turn waits to be tried again. */
export async function isWaiting(database: Database, actor: Actor, sessionId: string): Promise<boolean> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      select from turns where session_id = ${sessionId} and state in ${states("running")} and next_try_at > now()`),
  );
  return rows.length > 0;
}

/** Whether another turn of the session has an entry of that key. */
export async function isLogged(
  database: Database,
  actor: Actor,
  { turn, key }: { turn: OpenTurn; key: string },
): Promise<boolean> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      select from log_entries where session_id = ${turn.sessionId} and key = ${key} and turn_id <> ${turn.id} limit 1`),
  );
  return rows.length > 0;
}

/** Whether the log says so of a compaction, by the key of its note. */
export async function isSummarised(
  database: Database,
  actor: Actor,
  { sessionId, key }: { sessionId: string; key: string },
): Promise<boolean> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      select from log_entries where session_id = ${sessionId} and key = ${key} and kind = 'memory-note'
        and body->>'status' = 'compacted' and coalesce(body->>'discarded', '') <> 'true' limit 1`),
  );
  return rows.length > 0;
}

/** Before the prompt leaves: what a takeover has to know of it. */
export async function storePrompting(fence: Fence, input: Prompting & { turn: OpenTurn }): Promise<Prompting> {
  const { turn, messageId, appliedEvent, bootId } = input;
  await writeUnderLease(fence, (tx) =>
    tx.execute(sql`
      with prompting as (update turns set agent_message_id = ${messageId} where id = ${turn.id})
      update sessions set applied_event = ${appliedEvent}, applied_boot = ${bootId} where id = ${turn.sessionId}`),
  );
  return { messageId, appliedEvent, bootId };
}

/** `memory` null: the id was kept. Then a session of which nothing was said is intact, and what was lost before stays said. */
export async function storeAgentSession(
  fence: Fence,
  input: { sessionId: string; agentSessionId: string; directory: string; memory: StoredMemory | null },
): Promise<void> {
  const { sessionId, agentSessionId, directory, memory } = input;
  const change = memory
    ? sql`memory_status = ${memory.status}, memory_cause = ${memory.cause}, memory_at = now()`
    : sql`memory_status = case when memory_status = 'fresh' and memory_cause is null then 'intact' else memory_status end,
        memory_at = coalesce(memory_at, now())`;
  await writeUnderLease(fence, (tx) =>
    tx.execute(sql`
      update sessions set agent_session_id = ${agentSessionId}, agent_directory = ${directory}, memory_doubt = null, ${change}
      where id = ${sessionId}`),
  );
}

export interface StoredMemory {
  status: SessionState["memory"]["status"];
  cause: string | null;
}

/** Those of the same sandbox, itself included. */
export async function listSessionsBeside(database: Database, actor: Actor, sessionId: string): Promise<string[]> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      select id from sessions where sandbox_id = (select sandbox_id from sessions where id = ${sessionId})`),
  );
  return rows.map(({ id }) => String(id));
}

export async function listWaiting(
  database: Database,
): Promise<{ actor: Actor; sessionId: string; running: boolean }[]> {
  const rows = await database.transaction("nobody", (tx) => tx.execute(sql`select * from list_waiting_sessions()`));
  return rows.map((row) => ({
    sessionId: String(row.session_id),
    running: row.running === true,
    actor: { tenantId: tenantId.parse(row.tenant_id), userId: userId.parse(row.user_id), role: "user" },
  }));
}

export function toTurn(row: TurnRow): Turn {
  const time = (value: unknown) => (value === null ? null : new Date(value as string).toISOString());
  return {
    id: String(row.id),
    sessionId: String(row.session_id),
    kind: row.kind as Turn["kind"],
    state: row.state as Turn["state"],
    prompt: String(row.prompt),
    sendNow: row.send_now_at !== null,
    hostTurnId: row.host_turn_id === null ? null : String(row.host_turn_id),
    failure: row.failure_code ? { code: String(row.failure_code), message: String(row.failure_message ?? "") } : null,
    queuedAt: time(row.queued_at) ?? "",
    startedAt: time(row.started_at),
    endedAt: time(row.ended_at),
    undoneAt: time(row.undone_at),
    usage: {
      cost: row.cost === null ? null : Number(row.cost),
      tokens: {
        input: Number(row.tokens_input),
        output: Number(row.tokens_output),
        reasoning: Number(row.tokens_reasoning),
        cacheRead: Number(row.tokens_cache_read),
        cacheWrite: Number(row.tokens_cache_write),
      },
      providerId: row.provider_id === null ? null : String(row.provider_id),
      modelId: row.model_id === null ? null : String(row.model_id),
    },
  };
}

export function toOpenTurn(row: TurnRow): OpenTurn {
  const text = (value: unknown) => (value === null || value === "" ? null : String(value));
  return {
    id: String(row.id),
    sessionId: String(row.session_id),
    kind: row.kind as OpenTurn["kind"],
    state: row.state as OpenTurn["state"],
    prompt: String(row.prompt),
    revision: Number(row.revision),
    startedAt: row.started_at === null ? null : new Date(row.started_at as string),
    agentMessageId: text(row.agent_message_id),
    stopRequested: row.stop_requested === true,
    title: text(row.title),
    titleFrom: row.title_from as OpenTurn["titleFrom"],
    agentSessionId: text(row.agent_session_id),
    agentDirectory: text(row.agent_directory),
    appliedEvent: Number(row.applied_event),
    appliedBoot: text(row.applied_boot),
    sandboxId: text(row.sandbox_id),
    leaseOwner: text(row.lease_owner),
    homeId: text(row.home_id),
    leftBehind: row.left_behind === true,
    waitedMilliseconds: Number(row.waited_milliseconds ?? 0),
    tries: Number(row.tries),
    nextTryAt: row.next_try_at === null ? null : new Date(row.next_try_at as string),
    abortUnconfirmed: row.abort_unconfirmed === true,
  };
}
