import { hasId } from "../agent/index.ts";
import type { Fence, RunningSandbox } from "../lifecycle/index.ts";
import type { LogWriter } from "../sessions/index.ts";
import type { AgentConnection, OpenedSession } from "./agent-connections.ts";
import { createFilesPhase } from "./files-phase.ts";
import { noDoubt, readDoubt } from "./memory-doubt.ts";
import { type Replacement, replaceSession } from "./replace-session.ts";
import { settleVerbs } from "./settle-verbs.ts";
import type { TurnContext, TurnJob } from "./turn-context.ts";
import { storeAgentSession } from "./turn-rows.ts";

/** With what became of the agent's memory, where its session had to be replaced in this turn. */
export interface AgentSession extends OpenedSession {
  replaced: Replacement["status"] | null;
}

/** Begins the key of a note about a replaced session. */
export const memoryKey = "memory:";

/** Makes sure of the session's directory and of the agent's session in it (ARCHITECTURE.md, invariant 10), once in a life of the sandbox. */
export async function openAgentSession(
  context: TurnContext,
  job: TurnJob,
  input: { sandbox: RunningSandbox; writer: LogWriter; connection: AgentConnection; fence: Fence },
): Promise<AgentSession> {
  const { sandbox, writer, connection, fence } = input;
  const { actor, turn } = job;
  const { sessionId, agentSessionId: saved } = turn;
  const signal = AbortSignal.any([job.stop, job.closing, sandbox.signal]);
  const filesPhase = createFilesPhase(writer);
  const restoring = { sessionId, signal, onRestoring: filesPhase.begin };
  await context.archives.whenReplaced(restoring);
  const known = connection.openedSessions.get(sessionId);
  if (known && known.agentSessionId === saved) {
    await filesPhase.end();
    return { ...known, replaced: null };
  }
  const doubting = saved === null ? Promise.resolve(noDoubt) : readDoubt(context.database, actor, turn);
  doubting.catch(() => {});
  const workspace = await context.archives.openWorkspace({ ...sandbox, actor }, restoring);
  await filesPhase.end();
  const { directory } = workspace;
  if (workspace.note) await writer.add("error", { message: workspace.note });
  const { client } = connection;
  const { doubt, newestMessageId } = await doubting;
  const preparing = client.prepareDirectory(directory, signal);
  preparing.catch(() => {});
  const isKnown = saved !== null && (await client.keepSession({ agentSessionId: saved, directory, signal }));
  // A memory that was brought back may end before the session's last turn did.
  const isBehind =
    isKnown &&
    doubt !== null &&
    newestMessageId !== null &&
    !(await client.listMessages(saved, signal, hasId(newestMessageId))).some(hasId(newestMessageId));
  const isKept = isKnown && !isBehind;
  const replacement =
    saved === null || isKept
      ? null
      : await replaceSession(context, job, { connection, directory, lost: saved, doubt, signal });
  // opencode finds a title by itself, with one more call to a model; not where a person gave one.
  const title = turn.titleFrom === "person" ? turn.title : null;
  const agentSessionId =
    replacement?.agentSessionId ??
    (isKept && saved !== null ? saved : await client.createSession({ directory, title, signal }));
  if (replacement) {
    const lastEvent = connection.bus.passed || (await sandbox.sidecar.health(signal)).lastEvent;
    await noteReplacement(writer, replacement, lastEvent);
  }
  const memory = replacement ?? (isKept ? null : { status: "intact" as const, cause: null });
  await storeAgentSession(fence, { sessionId, agentSessionId, directory, memory });
  if (memory) await context.log.notifyViewers(sessionId);
  await preparing;
  Object.assign(turn, { agentSessionId, agentDirectory: directory });
  const opened = { directory, agentSessionId };
  if (isKept) await settleVerbs({ context, job, ...input, ...opened }, signal);
  connection.openedSessions.set(sessionId, opened);
  return { ...opened, replaced: replacement?.status ?? null };
}

/** Before the new id is stored, and under a key that follows from it: a repetition finds it there. */
async function noteReplacement(writer: LogWriter, { agentSessionId, status, note }: Replacement, lastEvent: number) {
  if (note === null) return;
  const key = `${memoryKey}${agentSessionId}`;
  const body = { status, message: note };
  const open = { type: "open", key, kind: "memory-note", body, under: null } as const;
  await writer.apply([open, { type: "close", key, verbatim: null }], lastEvent);
  await writer.flush();
}
