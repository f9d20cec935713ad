import { sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import type { SavedEntry } from "../agent/index.ts";
import type { Actor } from "../auth/index.ts";

/**
 * What the log holds of earlier turns since the last memory boundary (a `fresh` note), newest bytes
 * first, for a replay; turns that were taken back are left out. `complete` is false where older entries were left out for their size.
 */
export async function readSavedEntries(
  database: Database,
  actor: Actor,
  { sessionId, turnId, maxBytes }: { sessionId: string; turnId: string; maxBytes: number },
): Promise<{ entries: SavedEntry[]; complete: boolean }> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      with said as (
        select number, turn_id, kind, key, created_at, body, verbatim,
          sum(octet_length(coalesce(verbatim, body)::text))
            over (order by number desc rows between unbounded preceding and current row) as bytes,
          octet_length(coalesce(verbatim, body)::text) as size
        from log_entries
        where session_id = ${sessionId} and turn_id is distinct from ${turnId}::uuid and under is null
          and kind in ('prompt', 'agent_message', 'agent_thought', 'tool_call', 'memory-note')
          and coalesce(body->>'discarded', '') <> 'true'
          and not exists (select from turns undone where undone.id = log_entries.turn_id and undone.undone_at is not null)
          and number > coalesce((select max(number) from log_entries
            where session_id = ${sessionId} and kind = 'memory-note' and body->>'status' = 'fresh'), 0))
      select s.turn_id, s.kind, s.key, s.created_at, s.verbatim, t.agent_message_id, t.provider_id, t.model_id,
        case when s.verbatim is null then s.body else '{}'::jsonb end as body,
        (select count(*) from said) as entries
      from said s left join turns t on t.id = s.turn_id where s.bytes - s.size <= ${maxBytes} order by s.number`),
  );
  const complete = rows.length === Number(rows[0]?.entries ?? 0);
  return { entries: rows.map(toSaved), complete };
}

function toSaved(row: Record<string, unknown>): SavedEntry {
  const json = (value: unknown) => (typeof value === "string" ? (JSON.parse(value) as unknown) : value);
  const isAnswered = row.provider_id !== null && row.model_id !== null;
  return {
    turnId: row.turn_id === null ? null : String(row.turn_id),
    kind: row.kind as SavedEntry["kind"],
    key: row.key === null ? null : String(row.key),
    at: new Date(row.created_at as string).getTime(),
    body: json(row.body) as Record<string, unknown>,
    verbatim: json(row.verbatim),
    agentMessageId: row.agent_message_id === null ? null : String(row.agent_message_id),
    model: isAnswered ? { providerId: String(row.provider_id), modelId: String(row.model_id) } : null,
  };
}
