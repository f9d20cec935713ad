import { sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import type { SavedEntry } from "../agent/index.ts";
import type { Actor } from "../auth/index.ts";

// Parts as the agent made them can be long.
const maxRowsAtOnce = 100;

/**
 * What the log holds of earlier turns since the last memory boundary (a `fresh` note), newest bytes
 * first, for a replay; turns that were taken back are left out. `complete` is false where older entries were left out for
 * their size. Read backwards in pages, so that the length of the log does not matter.
 */
export async function readSavedEntries(
  database: Database,
  actor: Actor,
  { sessionId, turnId, maxBytes }: { sessionId: string; turnId: string; maxBytes: number },
): Promise<{ entries: SavedEntry[]; complete: boolean }> {
  return database.transaction(actor, async (tx) => {
    const [boundary] = await tx.execute<{ number: string | null }>(sql`
      select max(number) as number from log_entries
      where session_id = ${sessionId} and kind = 'memory-note' and body->>'status' = 'fresh'`);
    const newestFirst: SavedEntry[] = [];
    let bytes = 0;
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const page = await tx.execute(sql`
        select e.number, e.turn_id, e.kind, e.key, e.created_at, e.verbatim, t.agent_message_id, t.provider_id, t.model_id,
          case when e.verbatim is null then e.body else '{}'::jsonb end as body,
          octet_length(coalesce(e.verbatim, e.body)::text) as size
        from log_entries e left join turns t on t.id = e.turn_id
        where e.session_id = ${sessionId} and e.turn_id is distinct from ${turnId}::uuid and e.under is null
          and e.kind in ('prompt', 'agent_message', 'agent_thought', 'tool_call', 'memory-note')
          and coalesce(e.body->>'discarded', '') <> 'true' and t.undone_at is null
          and e.number > ${Number(boundary?.number ?? 0)} and e.number < ${before}
        order by e.number desc limit ${maxRowsAtOnce}`);
      for (const row of page) {
        if (bytes > maxBytes) return { entries: newestFirst.reverse(), complete: false };
        bytes += Number(row.size);
        newestFirst.push(toSaved(row));
      }
      if (page.length < maxRowsAtOnce) return { entries: newestFirst.reverse(), complete: true };
      before = Number(page.at(-1)?.number);
    }
  });
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
