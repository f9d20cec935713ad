import { expect, test } from "vitest";
import { createTranslator, initialState } from "../agent/index.ts";
import { AppError } from "../errors.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import { type Listening, listenToTurn } from "./listen-turn.ts";

function streamError(): Error {
  return new AppError("unavailable", "The agent's events can no longer be read.", { code: "stream-error" });
}

/** An agent that took the prompt, is idle, and never began an answer. */
async function endOfUnanswered({ isStopped, isCut = false }: { isStopped: boolean; isCut?: boolean }) {
  const stop = new AbortController();
  if (isStopped) stop.abort();
  const user = { info: { id: "msg_1", role: "user", sessionID: "ses_1" }, parts: [] };
  const aborted: string[] = [];
  const never = new AbortController().signal;
  const client = {
    listBusy: async () => [],
    listMessages: async () => [user],
    abort: async () => void aborted.push("ses_1"),
  };
  const driven = {
    context: {
      limits: { silenceMilliseconds: 1, settleMilliseconds: 1, stopMilliseconds: 5_000, lastLookMilliseconds: 5_000 },
    },
    job: { stop: stop.signal, stopLate: never, closing: never, heard: "yes", turn: { id: "turn" } },
    signal: never,
    sandbox: { signal: never },
    writer: { apply: async () => {} },
    connection: { client },
    directory: "/workspace",
    agentSessionId: "ses_1",
    joinedPrompts: { closeWith: (list: () => unknown) => list(), reopen() {} },
  } as unknown as DrivenTurn;
  const next = () => (isCut ? Promise.reject(streamError()) : new Promise<never>(() => {}));
  const events = { [Symbol.asyncIterator]: () => ({ next }) };
  const translator = createTranslator(initialState({ root: "ses_1", userMessageId: "msg_1" }));
  const listening = { events, translator, turnAsks: {}, watch: { cause: null } } as unknown as Listening;
  return { ending: await listenToTurn(driven, listening), aborted };
}

test("a turn whose events stay away ends as a stream error, and the agent is told to stop", async () => {
  const { ending, aborted } = await endOfUnanswered({ isStopped: false, isCut: true });
  expect(ending).toMatchObject({ outcome: "failed", failure: { code: "stream-error", message: expect.any(String) } });
  expect(aborted).toEqual(["ses_1"]);
});

test("a turn that was stopped before its answer began ends as stopped, not as failed", async () => {
  expect((await endOfUnanswered({ isStopped: true })).ending).toEqual({ outcome: "stopped" });
});

test("an agent that is found idle without any answer, its events lost, ends the turn with a cause", async () => {
  expect((await endOfUnanswered({ isStopped: false })).ending).toMatchObject({
    outcome: "failed",
    failure: { code: "agent-error", message: expect.stringContaining("before its answer was complete") },
  });
});
