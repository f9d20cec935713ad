import { expect, test } from "vitest";
import { createTranslator, initialState } from "../agent/index.ts";
import type { Attended } from "./attend-turn.ts";
import { type Listening, listenToTurn } from "./listen-turn.ts";

/** An agent that took the prompt, is idle, and never began an answer. */
async function endOfUnanswered({ isStopped }: { isStopped: boolean }) {
  const stop = new AbortController();
  if (isStopped) stop.abort();
  const user = { info: { id: "msg_1", role: "user", sessionID: "ses_1" }, parts: [] };
  const never = new AbortController().signal;
  const client = { listBusy: async () => [], listMessages: async () => [user], abort: async () => {} };
  const attended = {
    context: { limits: { silenceMilliseconds: 1, settleMilliseconds: 1, stopMilliseconds: 5_000 } },
    job: { stop: stop.signal, closing: never, turn: { id: "turn" } },
    sandbox: { signal: never },
    writer: { apply: async () => {} },
    connection: { client },
    directory: "/workspace",
    agentSessionId: "ses_1",
    joins: { closeWith: (list: () => unknown) => list(), reopen() {} },
  } as unknown as Attended;
  const events = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
  const translator = createTranslator(initialState({ root: "ses_1", userMessageId: "msg_1" }));
  const listening = { events, translator, asks: {}, watch: { cause: null } } as unknown as Listening;
  return listenToTurn(attended, listening);
}

test("a turn that was stopped before its answer began ends as stopped, not as failed", async () => {
  expect(await endOfUnanswered({ isStopped: true })).toEqual({ outcome: "stopped" });
});

test("an agent that is found idle without any answer, its events lost, ends the turn with a cause", async () => {
  expect(await endOfUnanswered({ isStopped: false })).toMatchObject({
    outcome: "failed",
    failure: { code: "agent-error", message: expect.stringContaining("before its answer was complete") },
  });
});
