import type { Translator } from "../agent/index.ts";
import { isAppError, isRefused } from "../errors.ts";
import { causes } from "../protocol/causes.ts";
import type { NumberedEvent } from "../protocol/sidecar.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import { closeAsItIs, endInAnyCase, fillFromList, settleFromList } from "./settle-turn.ts";
import { withSilences } from "./silences.ts";
import type { TurnAsks } from "./turn-asks.ts";
import { failed, stopped, type TurnEnding } from "./turn-context.ts";
import type { TurnWatch } from "./turn-watch.ts";

export interface Listening {
  events: AsyncIterable<NumberedEvent>;
  /** Found so before the first event. */
  isIdle: boolean;
  translator: Translator;
  turnAsks: TurnAsks;
  watch: TurnWatch;
}

/**
 * Events into the log, until the agent is idle and its own list says how it ended. Events may be lost on
 * their way, the last ones too: so the agent is asked after a loss, and whenever it has been silent.
 */
export async function listenToTurn(driven: DrivenTurn, listening: Listening): Promise<TurnEnding> {
  const { job, sandbox, context, joinedPrompts } = driven;
  const { events, translator, watch } = listening;
  const { silenceMilliseconds, settleMilliseconds } = context.limits;
  // `idle`: it said so, or was found so, before its last message was complete; that is due in a moment.
  let idle = listening.isIdle;
  let broken: unknown = null;
  try {
    for await (const event of withSilences(events, () => (idle ? settleMilliseconds : silenceMilliseconds))) {
      const heard = event ? await hear(driven, listening, event) : "silence";
      if (heard === "busy") {
        idle = false;
        watch.begun();
        joinedPrompts.open();
      }
      if (heard === "exited") {
        context.logger.warn({ turnId: job.turn.id, cause: exitCause(event) }, "The agent ended in a turn");
        return await closeAsItIs(driven, translator, failed("agent-exited", causes["agent-ended"].message));
      }
      if (heard === "nothing" || heard === "busy") continue;
      const found = await lookAtAgent(driven, listening, heard).catch(tolerate);
      if (found === "busy") {
        idle = false;
        joinedPrompts.open();
      } else if (found === "unreachable") idle = true;
      else if (found) return found;
      else if ((idle && heard === "silence") || isStoppedUnanswered(driven, translator, heard)) {
        const cause = failed("agent-error", causes["agent-incomplete"].message);
        return await endInAnyCase(driven, translator, asWanted(job, cause));
      } else idle = true;
    }
  } catch (error) {
    // The events cannot be read any more. Whether the agent goes on is not known, so it is told to stop.
    if (isRefused(error) || (!isStreamError(error) && !job.stopLate.aborted)) throw error;
    broken = error;
  }
  job.closing.throwIfAborted();
  const why = isAppError(broken) ? broken.message : causes["agent-lost"].message;
  const cause = watch.cause ?? asWanted(job, failed("stream-error", why));
  if (sandbox.signal.aborted) return closeAsItIs(driven, translator, cause);
  return endInAnyCase(driven, translator, cause);
}

/** Of an answer that was never begun nothing is due any more. */
function isStoppedUnanswered({ job }: DrivenTurn, { state }: Translator, heard: Heard | "silence"): boolean {
  if (heard !== "idle" || !job.stop.aborted) return false;
  return ![...state.messages.values()].some(({ role, ours }) => ours && role === "assistant");
}

/** Stopped before the agent had begun its answer there is none to be complete: that is what was asked for. */
function asWanted({ stop }: DrivenTurn["job"], ending: TurnEnding): TurnEnding {
  return stop.aborted ? stopped : ending;
}

type Heard = "nothing" | "busy" | "idle" | "lost" | "exited";

async function hear(driven: DrivenTurn, listening: Listening, event: NumberedEvent): Promise<Heard> {
  const { translator, turnAsks, watch } = listening;
  watch.seen();
  const { changes, signals } = translator.apply(event);
  await driven.writer.apply(changes, translator.state.lastNumber);
  let heard: Heard = isLoss(event) ? "lost" : "nothing";
  for (const signal of signals) {
    if (signal.type === "agent-exited") return "exited";
    if (signal.type === "permission-asked" || signal.type === "question-asked") await turnAsks.asked(signal);
    else if (signal.type === "permission-replied" || signal.type === "question-replied") await turnAsks.replied(signal);
    else if (signal.type === "retry" && !changes.some(({ type }) => type === "discard")) {
      await sayWhyItWaits(driven, translator, signal);
    } else if (signal.type === "idle" || signal.type === "busy") heard = signal.type;
  }
  return heard;
}

/** Nothing had been said yet, but whoever waits should know why: one entry, whatever the number of tries. */
async function sayWhyItWaits(
  { writer }: DrivenTurn,
  { state }: Translator,
  { attempt, message: reason }: { attempt: number; message: string },
): Promise<void> {
  const body = { numbers: [], attempt, reason };
  const key = `retry:${state.userMessageId}`;
  await writer.apply([{ type: "open", key, kind: "parts-discard", body, under: null }], state.lastNumber);
}

/** How the turn ended; null when the agent is idle and its last message is not complete. */
async function lookAtAgent(
  driven: DrivenTurn,
  { translator, turnAsks }: Listening,
  heard: "idle" | "lost" | "silence",
): Promise<TurnEnding | "busy" | null> {
  const { connection, directory, agentSessionId, signal } = driven;
  if (heard !== "idle") {
    const busy = (await connection.client.listBusy(directory, signal)).includes(agentSessionId);
    if (busy && heard === "lost") await fillFromList(driven, translator);
    if (busy && (heard === "lost" || turnAsks.owes)) await turnAsks.poll();
    if (busy) return "busy";
    // A prompt that was just sent may not be known yet: a look in a moment tells more.
    if (heard === "lost") return null;
  }
  const ending = await settleFromList(driven, translator, { over: heard === "silence" });
  if (ending === "unanswered") return "busy";
  return ending === "unfinished" ? null : ending;
}

/** Out of reach for now: the bus decides when that has been too long, and the watch. */
function tolerate(error: unknown): "unreachable" {
  const isAway = isAppError(error) && (error.kind === "unavailable" || error.kind === "timeout");
  // The database is not the agent: what could not be written is lost to this turn.
  if (isAway && error.code !== "database") return "unreachable";
  throw error;
}

/** The sidecar no longer had them, or did not hear them itself. */
function isLoss(event: NumberedEvent): boolean {
  return event.type === "gap" || (event.type === "life" && event.what === "events-connected");
}

function exitCause(event: NumberedEvent | null): string {
  return (event?.type === "life" && event.cause) || "The agent exited.";
}

function isStreamError(error: unknown): boolean {
  return isAppError(error) && error.code === "stream-error";
}
