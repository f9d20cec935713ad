import { sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import { states } from "./turn-rows.ts";

/** Why the agent may know less than the log, since a wake brought its memory back or could not. */
export interface MemoryDoubt {
  /** For people; null where there is none. */
  doubt: string | null;
  /** Of the newest finished turn, by which an agent that remembers it all is told from one that does not. */
  newestMessageId: string | null;
}

export const noDoubt: MemoryDoubt = { doubt: null, newestMessageId: null };

/** To be asked once the sandbox is awake: it is the wake that raises it. */
export async function readDoubt(
  database: Database,
  actor: Actor,
  { id, sessionId }: { id: string; sessionId: string },
): Promise<MemoryDoubt> {
  const [row] = await database.transaction(actor, (tx) =>
    tx.execute<{ memory_doubt: string | null; agent_message_id: string | null }>(sql`
      select s.memory_doubt, t.agent_message_id from sessions s left join lateral (
        select agent_message_id from turns where session_id = s.id and id <> ${id} and kind = 'prompt'
          and state in ${states("finished")} and host_turn_id is null and undone_at is null and agent_message_id is not null
        order by ended_at desc limit 1) t on s.memory_doubt is not null
      where s.id = ${sessionId}`),
  );
  return row ? { doubt: row.memory_doubt, newestMessageId: row.agent_message_id } : noDoubt;
}
