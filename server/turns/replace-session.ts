import { maxReplayBytes, planReplay, type Replay, selectConversation } from "../agent/index.ts";
import { faultError, isAppError } from "../errors.ts";
import { bounded } from "../lib/bounded.ts";
import type { SessionState } from "../protocol/session-events.ts";
import type { AgentConnection } from "./agent-connections.ts";
import { readSavedEntries } from "./saved-entries.ts";
import type { TurnContext, TurnJob } from "./turn-context.ts";

export interface Replacement {
  agentSessionId: string;
  status: SessionState["memory"]["status"];
  cause: string;
  /** What the log says about it; null when nothing was there to be lost. */
  note: string | null;
}

// Rows hold a part and what is shown of it: what is read may be more than what is replayed.
const maxReadBytes = 3 * maxReplayBytes;
// Thousands of parts take seconds; somebody waits for an answer.
const wayMilliseconds = 120_000;
const unknown = "The agent no longer knew this session.";

/**
 * For a saved id that the agent answers with 404 (ARCHITECTURE.md, invariant 10), or whose end it has forgotten: a new session
 * with the saved conversation in it, by the first way that works. Killed half-way, the same is done again and meets
 * its own traces. Throws when the agent takes no session at all: then nothing is decided, and the
 * next turn tries again.
 */
export async function replaceSession(
  context: TurnContext,
  job: TurnJob,
  input: { connection: AgentConnection; directory: string; lost: string; doubt: string | null; signal: AbortSignal },
): Promise<Replacement> {
  const { connection, directory, lost, doubt, signal } = input;
  const why = doubt ?? unknown;
  const { client } = connection;
  const { sessionId, id: turnId, title } = job.turn;
  const saved = await readSavedEntries(context.database, job.actor, { sessionId, turnId, maxBytes: maxReadBytes });
  const { messages, cut } = selectConversation(saved.entries, saved);
  const begin = () =>
    client.createSession({ directory, title: job.turn.titleFrom === "person" ? title : null, signal });
  if (messages.length === 0 && !cut) return { agentSessionId: await begin(), status: "fresh", cause: why, note: null };

  const ways: [string, (replay: Replay, limited: AbortSignal) => Promise<void>][] = [
    ["replay", (replay, limited) => client.replaySession(replay, limited)],
    ["import", (replay, limited) => client.importSession({ sessionId, replay, signal: limited })],
  ];
  const late = () => faultError("agent-late");
  let problem = "";
  for (const [way, take] of ways) {
    let replay: Replay | null = null;
    try {
      const target = await client.findReplayTarget(directory, signal);
      const planned = planReplay(messages, { seed: [way, sessionId, lost], title: title ?? "New session", target });
      replay = planned;
      await bounded((limited) => take(planned, limited), { signal, milliseconds: wayMilliseconds, late });
      return { agentSessionId: replay.info.id, ...outcomeOf(cut, doubt) };
    } catch (error) {
      signal.throwIfAborted();
      context.logger.warn({ err: error, sessionId, way }, "A conversation could not be given back to the agent");
      problem = isAppError(error) ? error.message : "The agent did not accept it.";
      if (replay) await client.deleteSession(replay.info.id, signal);
    }
  }
  return {
    agentSessionId: await begin(),
    status: "fresh",
    cause: `${why} The saved conversation could not be given back to it: ${problem}`,
    note: `${told("Memory lost: the agent does not remember this conversation, and rebuilding it from the transcript failed.", doubt)} It knows only what you tell it from now on.`,
  };
}

/** With what is known to have caused it. */
const told = (loss: string, doubt: string | null) => (doubt ? `${loss} ${doubt}` : loss);

function outcomeOf(cut: boolean, doubt: string | null): Pick<Replacement, "status" | "cause" | "note"> {
  const why = doubt ?? unknown;
  const lost = told("The agent had lost its memory of this session.", doubt);
  if (cut) {
    return {
      status: "partial",
      cause: `${why} Only the latest part of the saved conversation was given back to it; the rest was too long.`,
      note: `${lost} Only the latest part of the conversation was given back to it; the rest was too long.`,
    };
  }
  return {
    status: "replayed",
    cause: `${why} The saved conversation was given back to it.`,
    note: `${lost} The whole conversation was given back to it from the transcript.`,
  };
}

/** What the agent is told before the person's words, so that it does not pretend to remember. */
export function prefaceFor(status: string): string | null {
  if (status === "fresh")
    return `${opening} Your memory of this session was lost and could not be restored. ${honesty}`;
  if (status === "partial") return `${opening} Only the newest part of this session could be restored. ${honesty}`;
  return null;
}

const opening = "<system-reminder>\nA note from the system, not from the person:";
const honesty =
  "Files in the working directory are as they were. If the person refers to something earlier that you do not know, say so and ask.\n</system-reminder>";
