import { sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import { type Fence, writeUnderLease } from "../lifecycle/index.ts";
import { turnStatesBefore } from "../protocol/turn-states.ts";
import { type OpenTurn, states } from "./turn-rows.ts";

/** A turn that was sent into a running one. */
export interface JoinedTurn {
  turnId: string;
  prompt: string;
  agentMessageId: string;
}

export async function listToJoin(database: Database, actor: Actor, sessionId: string): Promise<string[]> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      select id from turns where session_id = ${sessionId} and state in ${states(...turnStatesBefore("joined"))}
        and kind = 'prompt' and send_now_at is not null order by send_now_at limit 100`),
  );
  return rows.map(({ id }) => String(id));
}

/** Null when it was removed or has begun meanwhile, or the host is over. Its id is stored before it is sent. */
export async function claimJoin(
  fence: Fence,
  { turnId, host, agentMessageId }: { turnId: string; host: OpenTurn; agentMessageId: string },
): Promise<JoinedTurn | null> {
  const [row] = await writeUnderLease(fence, (tx) =>
    tx.execute(sql`
      update turns set state = ${states("joined")}, host_turn_id = ${host.id}, agent_message_id = ${agentMessageId},
        started_at = now()
      where id = ${turnId} and session_id = ${host.sessionId} and state in ${states(...turnStatesBefore("joined"))}
        and exists (select from turns h where h.id = ${host.id} and h.state in ${states("running")}
          and h.stop_requested_at is null)
      returning prompt`),
  );
  return row ? { turnId, prompt: String(row.prompt), agentMessageId } : null;
}

/** The agent did not take it: it waits again. */
export async function releaseJoin(fence: Fence, turnId: string): Promise<void> {
  await writeUnderLease(fence, (tx) =>
    tx.execute(sql`
      update turns set state = ${states("queued")}, host_turn_id = null, agent_message_id = null, started_at = null,
        send_now_at = null
      where id = ${turnId} and state in ${states("joined")}`),
  );
}

/** After a takeover; `logged`: its prompt is in the log already. */
export async function listJoined(
  database: Database,
  actor: Actor,
  host: OpenTurn,
): Promise<(JoinedTurn & { logged: boolean })[]> {
  const rows = await database.transaction(actor, (tx) =>
    tx.execute(sql`
      select id, prompt, agent_message_id,
        exists (select from log_entries e where e.turn_id = turns.id and e.kind = 'prompt') as logged
      from turns where host_turn_id = ${host.id} and state in ${states("joined")}
      order by started_at, agent_message_id`),
  );
  return rows.map((row) => ({
    turnId: String(row.id),
    prompt: String(row.prompt),
    agentMessageId: String(row.agent_message_id),
    logged: row.logged === true,
  }));
}
