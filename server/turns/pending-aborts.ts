import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import type { AgentClient } from "../agent/index.ts";
import type { Actor } from "../auth/index.ts";
import { faultError, isRefused } from "../errors.ts";
import { bounded } from "../lib/bounded.ts";
import type { Logger } from "../lib/logger.ts";
import { type Lifecycle, type RunningSandbox, writeUnderLease } from "../lifecycle/index.ts";
import { tenantId, userId } from "../protocol/ids.ts";
import type { AgentConnections } from "./agent-connections.ts";

interface Marked {
  actor: Actor;
  sessionId: string;
  sandbox: RunningSandbox;
}

/**
 * Sessions whose agent may still be at work on a turn that has ended, since it could not be told to stop. The mark is
 * the session's (`abort_unconfirmed_at`), so whoever holds the sandbox ends that work as soon as it can be reached.
 * One task for each session does it: beside it nobody else here does, so that it never hits the turn after.
 */
export interface PendingAborts {
  /** Sees to a mark that was just made, without being waited for. */
  look(marked: Marked): void;
  /** Resolves once the agent was seen idle and the mark is gone. Throws `unavailable` when that takes too long. */
  settled(marked: Marked & { signal: AbortSignal }): Promise<void>;
  /** Looks for marks of sandboxes that run here; those of sandboxes that are gone have nothing to end. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

const patienceMilliseconds = 8_000;
const tryMilliseconds = 8_000;
const pauses = [250, 500, 1_000, 2_000, 5_000] as const;
const pollMilliseconds = 100;

export function createPendingAborts(options: {
  database: Database;
  agents: AgentConnections;
  lifecycle: Pick<Lifecycle, "findRunning">;
  logger: Pick<Logger, "warn" | "error">;
  /** Between two looks: a prompt that was on its way when the agent stood still begins only then. */
  settleMilliseconds: number;
}): PendingAborts {
  const { database, agents, lifecycle, logger, settleMilliseconds } = options;
  const tasks = new Map<string, Promise<void>>();
  const closing = new AbortController();

  async function end(marked: Marked): Promise<void> {
    const { sandbox, sessionId } = marked;
    const signal = AbortSignal.any([closing.signal, sandbox.signal]);
    for (let failures = 0; ; failures++) {
      try {
        const mark = await readMark(database, marked);
        if (!mark) return;
        if (mark.agentSessionId && mark.directory && mark.boot === sandbox.sidecar.bootId) {
          const limited = AbortSignal.any([signal, AbortSignal.timeout(tryMilliseconds)]);
          const { client } = agents.get(sandbox);
          const run = { agentSessionId: mark.agentSessionId, directory: mark.directory, signal: limited };
          await endRun(client, run);
          await sleep(settleMilliseconds, undefined, { signal });
          await endRun(client, run);
        }
        await clearMark(database, marked);
        return;
      } catch (error) {
        if (signal.aborted || isRefused(error)) return;
        if (failures === 0) logger.warn({ err: error, sessionId }, "An agent could not be told to stop yet");
        const pause = pauses[Math.min(failures, pauses.length - 1)];
        await sleep(pause, undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
      }
    }
  }

  function begin(marked: Marked): Promise<void> {
    const { sessionId } = marked;
    const task = tasks.get(sessionId) ?? end(marked).finally(() => tasks.delete(sessionId));
    tasks.set(sessionId, task);
    return task;
  }

  return {
    look: (marked) => void begin(marked),
    async settled({ signal, ...marked }) {
      const late = () => faultError("agent-unstopped");
      await bounded(() => begin(marked), { signal, milliseconds: patienceMilliseconds, late });
      marked.sandbox.signal.throwIfAborted();
    },
    async sweep() {
      for (const { actor, sessionId, sandboxId, isGone } of await listMarked(database)) {
        const sandbox = sandboxId ? lifecycle.findRunning(sandboxId) : null;
        if (isGone) await clearGone(database, { actor, sessionId });
        else if (sandbox) void begin({ actor, sessionId, sandbox });
      }
    },
    async close() {
      closing.abort();
      await Promise.all(tasks.values());
    },
  };
}

/** Tells the agent to stop all that it does in that directory, which is one session's, and waits until it is idle. */
export async function endRun(
  client: Pick<AgentClient, "abort" | "listBusy">,
  { agentSessionId, directory, signal }: { agentSessionId: string; directory: string; signal: AbortSignal },
): Promise<void> {
  for (let busy: readonly string[] = []; ; ) {
    for (const id of new Set([agentSessionId, ...busy])) await client.abort(id, signal);
    busy = await client.listBusy(directory, signal);
    if (busy.length === 0) return;
    await sleep(pollMilliseconds, undefined, { signal });
  }
}

async function readMark(database: Database, { actor, sessionId }: Pick<Marked, "actor" | "sessionId">) {
  const [row] = await database.transaction(actor, (tx) =>
    tx.execute<{ agent_session_id: string | null; agent_directory: string | null; abort_boot: string | null }>(sql`
      select agent_session_id, agent_directory, abort_boot from sessions
      where id = ${sessionId} and abort_unconfirmed_at is not null`),
  );
  return row ? { agentSessionId: row.agent_session_id, directory: row.agent_directory, boot: row.abort_boot } : null;
}

async function clearMark(database: Database, { actor, sessionId, sandbox }: Marked): Promise<void> {
  await writeUnderLease({ database, actor, lease: sandbox }, (tx) =>
    tx.execute(sql`update sessions set abort_unconfirmed_at = null, abort_boot = null where id = ${sessionId}`),
  );
}

/** Looked at once more, since the list may be a moment old: what is gone does not come back. */
async function clearGone(database: Database, { actor, sessionId }: Pick<Marked, "actor" | "sessionId">): Promise<void> {
  await database.transaction(actor, (tx) =>
    tx.execute(sql`
      update sessions set abort_unconfirmed_at = null, abort_boot = null
      where id = ${sessionId} and abort_unconfirmed_at is not null and not exists (select from sandboxes b
        where b.id = sandbox_id and b.boot_id = abort_boot and b.observed_state in ('provisioning', 'running'))`),
  );
}

async function listMarked(database: Database) {
  const rows = await database.transaction("nobody", (tx) => tx.execute(sql`select * from list_unconfirmed_aborts()`));
  return rows.map((row) => ({
    sessionId: String(row.session_id),
    sandboxId: row.sandbox_id === null ? null : String(row.sandbox_id),
    isGone: row.gone === true,
    actor: { tenantId: tenantId.parse(row.tenant_id), userId: userId.parse(row.user_id), role: "user" } as const,
  }));
}
