import { type AgentMessage, hasId, initialState, settle } from "../agent/index.ts";
import { faultError } from "../errors.ts";
import { bounded } from "../lib/bounded.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import { endRun } from "./pending-aborts.ts";
import { planRedo, planUndo } from "./revert-turn.ts";
import { isSummarised } from "./turn-rows.ts";
import { listUnfinished, storeReversal } from "./undo-rows.ts";

type Opened = Pick<
  DrivenTurn,
  "context" | "job" | "sandbox" | "writer" | "connection" | "agentSessionId" | "directory" | "fence"
>;

const idleMilliseconds = 10_000;

/**
 * Before a turn that follows one which was stopped or failed: what the agent did of that without being heard comes
 * into the log, and what it would go on with is taken from it. Repeating it is harmless.
 */
export async function settleVerbs(opened: Opened, signal: AbortSignal): Promise<void> {
  const { context, job } = opened;
  const unfinished = await listUnfinished(context.database, job.actor, job.turn);
  if (unfinished.length === 0) return;
  await settleCompactions(opened, signal);
  // One of the same kind looks by itself, and is done with what it finds done.
  if (unfinished.some((kind) => kind !== job.turn.kind && (kind === "undo" || kind === "redo"))) {
    await settleReversal(opened, signal);
  }
}

async function settleReversal(opened: Opened, signal: AbortSignal): Promise<void> {
  const { job, writer, connection, agentSessionId, fence } = opened;
  const { sessionId, kind } = job.turn;
  const reverted = await connection.client.findReverted(agentSessionId, signal);
  const undo = kind === "undo" ? null : await planUndo(opened);
  const redo = kind === "redo" ? null : await planRedo(opened);
  const isUndone = undo?.isDone(reverted) === true;
  const found = isUndone ? undo : redo?.isDone(reverted) ? redo : null;
  if (!found) return;
  const { undone, redone } = found.end;
  // Said twice it means the same; stored without having been said it would be lost.
  if (undone) await writer.add("turn-undo", { turnIds: undone });
  if (redone) await writer.add("turn-redo", { turnIds: redone });
  await storeReversal(fence, { sessionId, undone, redone });
}

/** One without its summary would be gone on with by the next prompt, which then had the summary for its answer. */
async function settleCompactions(opened: Opened, signal: AbortSignal): Promise<void> {
  const { job, connection, agentSessionId, directory } = opened;
  const { client } = connection;
  const { agentMessageId, kind } = job.turn;
  const listed = () => client.listMessages(agentSessionId, signal, isAnswered);
  const isOurs = (messages: readonly AgentMessage[]) =>
    job.isResumed && (kind === "compact" || (agentMessageId !== null && messages.some(hasId(agentMessageId))));
  const found = await listed();
  // The agent has this turn already: it was looked at before.
  if (isOurs(found) || !sinceAnswer(found).some(isCompaction)) return;
  await bounded((limited) => endRun(client, { agentSessionId, directory, signal: limited }), {
    signal,
    milliseconds: idleMilliseconds,
    late: () => faultError("agent-unstopped"),
  });
  const messages = sinceAnswer(await listed());
  for (const compaction of messages.filter(isCompaction)) {
    const after = messages.slice(messages.indexOf(compaction) + 1);
    if (after.some(isEnded)) await logSummary(opened, [compaction, ...after.filter(isSummary)]);
    else {
      for (const { info } of [...after.filter(isSummary), compaction]) {
        await client.removeMessage({ agentSessionId, messageId: info.id, signal });
      }
    }
  }
}

/** Written after its turn had ended: from there on the agent remembers no more than that. */
async function logSummary(opened: Opened, messages: readonly [AgentMessage, ...AgentMessage[]]): Promise<void> {
  const { context, job, sandbox, writer, connection, agentSessionId } = opened;
  const [compaction] = messages;
  const key = compaction.parts.find(({ type }) => type === "compaction")?.id ?? "";
  const isWritten = messages.some((message) => isEnded(message) && !message.info.error);
  if (!isWritten || (await isSummarised(context.database, job.actor, { sessionId: job.turn.sessionId, key }))) return;
  const state = initialState({ root: agentSessionId, userMessageId: compaction.info.id, title: job.turn.title });
  const { changes } = settle({ state, messages, end: true });
  const signal = AbortSignal.any([job.closing, sandbox.signal]);
  await writer.apply(changes, connection.bus.passed || (await sandbox.sidecar.health(signal)).lastEvent);
  await writer.flush();
}

const isCompaction = ({ info, parts }: AgentMessage) =>
  info.role === "user" && parts.some(({ type }) => type === "compaction");
const isSummary = ({ info }: AgentMessage) => info.role === "assistant" && info.summary === true;
/** By this opencode itself knows what is left to be done. */
const isEnded = ({ info }: AgentMessage) => info.role === "assistant" && typeof info.finish === "string";
const isAnswered = (message: AgentMessage) => isEnded(message) && !isSummary(message);
const sinceAnswer = (messages: readonly AgentMessage[]) => messages.slice(messages.findLastIndex(isAnswered) + 1);
