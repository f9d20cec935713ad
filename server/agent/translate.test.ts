import { describe, expect, test } from "vitest";
import { providerCause } from "../protocol/causes.ts";
import type { NumberedEvent } from "../protocol/sidecar.ts";
import { recallMessages, settle } from "./settle.ts";
import { applyChanges, createTestLog } from "./test-capture.ts";
import { createTranslator } from "./translate.ts";
import { initialState, restoreState } from "./translator-state.ts";

const root = "ses_root00000000";
const prompt = "msg_100000000000AAAAAAAAAAAAAA";
const answer = "msg_100000000001AAAAAAAAAAAAAA";

describe("the translation", () => {
  test("waits for the cumulative text of a part that was open when events were lost", () => {
    const turn = begin();
    turn.part({ id: "prt_1", type: "text", text: "", time: { start: 1 } });
    turn.delta("prt_1", "one ");
    turn.lose(3);
    turn.delta("prt_1", "five");
    expect(turn.texts()).toEqual(["one "]);
    turn.part({ id: "prt_1", type: "text", text: "one two three four five", time: { start: 1, end: 2 } });
    expect(turn.texts()).toEqual(["one two three four five"]);
  });

  test("goes on with deltas once a cumulative update has said what came before", () => {
    const turn = begin();
    turn.part({ id: "prt_1", type: "text", text: "", time: { start: 1 } });
    turn.lose(1);
    turn.part({ id: "prt_1", type: "text", text: "one two ", time: { start: 1 } });
    turn.delta("prt_1", "three");
    expect(turn.texts()).toEqual(["one two three"]);
  });

  test("believes the text at its end, also where it is another one", () => {
    const turn = begin();
    turn.part({ id: "prt_1", type: "text", text: "", time: { start: 1 } });
    turn.delta("prt_1", "draft  ");
    turn.part({ id: "prt_1", type: "text", text: "draft", time: { start: 1, end: 2 } });
    expect(turn.texts()).toEqual(["draft"]);
  });

  test("treats events that the sidecar itself lost as a gap", () => {
    const turn = begin();
    turn.part({ id: "prt_1", type: "text", text: "", time: { start: 1 } });
    turn.life("events-lost");
    turn.delta("prt_1", "lost its place");
    expect(turn.texts()).toEqual([""]);
  });

  test("keeps a tool that runs while the model is asked again, and drops a call that was half written", () => {
    const turn = begin();
    turn.part({ id: "prt_1", type: "tool", tool: "bash", callID: "a", state: { status: "running", input: {} } });
    turn.part({ id: "prt_2", type: "tool", tool: "edit", callID: "b", state: { status: "pending", input: {} } });
    turn.agent("session.status", { status: { type: "retry", attempt: 2, message: "cut", next: 5 } });
    expect(turn.changes.at(-1)).toEqual({ type: "discard", keys: ["prt_2"], attempt: 2, reason: "cut" });
    turn.part({ id: "prt_1", type: "tool", tool: "bash", callID: "a", state: { status: "completed", output: "x" } });
    expect(turn.log.entries.get("prt_1")).toMatchObject({ open: false, discarded: false });
  });

  test("discards what a failed try had finished, and nothing of the message before", () => {
    const turn = begin();
    turn.part({ id: "prt_1", type: "text", text: "kept", time: { start: 1, end: 2 } });
    const next = "msg_100000000002AAAAAAAAAAAAAA";
    turn.agent("message.updated", { info: { id: next, role: "assistant", sessionID: root, parentID: prompt } });
    turn.part({ id: "prt_2", messageID: next, type: "reasoning", text: "thought", time: { start: 1, end: 2 } });
    turn.part({ id: "prt_3", messageID: next, type: "tool", tool: "bash", state: { status: "completed" } });
    turn.part({ id: "prt_4", messageID: next, type: "text", text: "", time: { start: 1 } });
    retry(turn, 1);
    expect(turn.changes.at(-1)).toMatchObject({ type: "discard", keys: ["prt_2", "prt_4"] });
    turn.part({ id: "prt_5", messageID: next, type: "reasoning", text: "thought", time: { start: 1, end: 2 } });
    retry(turn, 2);
    expect(turn.changes.at(-1)).toMatchObject({ type: "discard", keys: ["prt_5"] });
  });

  test("does not take a retry that is read late for one of what was said since", () => {
    const turn = begin();
    const thought = { messageID: answer, type: "reasoning", text: "thought", time: { start: 1, end: 2 } };
    turn.part({ ...thought, id: "prt_100000000003AAAAAAAAAAAAAA" });
    turn.part({ ...thought, id: "prt_100000000005AAAAAAAAAAAAAA" });
    retry(turn, 1, "evt_100000000004AAAAAAAAAAAAAA");
    expect(turn.changes.at(-1)).toMatchObject({ type: "discard", keys: ["prt_100000000003AAAAAAAAAAAAAA"] });
  });

  test("puts a subagent's events under its tool call, also those that came before it was named", () => {
    const turn = begin();
    const child = "ses_child0000000";
    turn.agent("session.created", { sessionID: child, info: { id: child, parentID: root } });
    const info = { id: "msg_2", role: "assistant", sessionID: child, parentID: "msg_1" };
    turn.agent("message.updated", { sessionID: child, info });
    const part = { id: "prt_9", messageID: "msg_2", sessionID: child, type: "text", text: "hi", time: { end: 1 } };
    turn.agent("message.part.updated", { sessionID: child, part });
    expect(turn.texts()).toEqual([]);
    const state = { status: "running", input: {}, metadata: { sessionId: child } };
    turn.part({ id: "prt_1", type: "tool", tool: "task", callID: "a", state });
    expect(turn.log.entries.get("prt_9")).toMatchObject({ under: "prt_1", body: { text: "hi" } });
  });

  test("ignores what is still said about earlier turns", () => {
    const turn = begin();
    const old = "msg_0fffffffffffAAAAAAAAAAAAAA";
    turn.agent("message.updated", { info: { id: old, role: "user", sessionID: root, summary: { diffs: [] } } });
    const info = { id: "msg_0fffffffffffBBBBBBBBBBBBBB", role: "assistant", sessionID: root, parentID: old };
    turn.agent("message.updated", { info });
    turn.part({ id: "prt_0", messageID: info.id, type: "tool", tool: "bash", state: { status: "completed" } });
    turn.part({ id: "prt_0b", messageID: "msg_0ffffffffffe", type: "text", text: "", time: { start: 1 } });
    expect(turn.changes).toEqual([]);
  });

  test("knows messages that a compaction adds, though the sandbox's clock is behind", () => {
    const turn = begin();
    const added = "msg_0fffffffffffAAAAAAAAAAAAAA";
    turn.agent("message.updated", { info: { id: added, role: "user", sessionID: root } });
    const info = { id: "msg_0fffffffffffBBBBBBBBBBBBBB", role: "assistant", sessionID: root, parentID: added };
    turn.agent("message.updated", { info });
    turn.part({ id: "prt_1", messageID: info.id, type: "text", text: "goes on", time: { end: 1 } });
    expect(turn.texts()).toEqual(["goes on"]);
  });

  test("is idle only after its own busy, and says so again only after news", () => {
    const turn = begin({ prompted: false });
    const status = (type: string) => turn.agent("session.status", { status: { type } });
    // Of the turn before, read late.
    status("busy");
    status("idle");
    turn.agent("message.updated", { info: { id: prompt, role: "user", sessionID: root } });
    turn.agent("session.idle", {});
    expect(turn.signals).toEqual([]);
    status("busy");
    turn.agent("message.updated", { info: { id: answer, role: "assistant", sessionID: root, parentID: prompt } });
    status("idle");
    turn.agent("session.idle", {});
    expect(turn.signals).toEqual([{ type: "busy" }, { type: "idle" }]);
    turn.part({ id: "prt_1", type: "text", text: "late", time: { end: 1 } });
    status("idle");
    expect(turn.signals).toHaveLength(3);
  });

  test("counts what it does not know, and reports an agent that exited", () => {
    const turn = begin();
    turn.agent("session.next.thing", {});
    turn.agent("session.next.thing", {});
    turn.part({ id: "prt_1", type: "hologram" });
    turn.life("exited", "killed by SIGKILL");
    expect([...turn.state.unknown]).toEqual([
      ["session.next.thing", 2],
      ["part:hologram", 1],
    ]);
    expect(turn.signals).toEqual([{ type: "agent-exited", cause: "killed by SIGKILL" }]);
  });

  test("keeps provider, status and request id of an error", () => {
    const turn = begin();
    const data = { message: "slow down", statusCode: 429, responseHeaders: { "x-request-id": "req_1" } };
    turn.agent("session.error", { error: { name: "APIError", data } });
    expect(turn.signals).toEqual([
      { type: "error", code: "429", message: providerCause(429, "slow down"), requestId: "req_1", terminal: true },
    ]);
  });

  test("joins a burst of 100,000 deltas", () => {
    const turn = begin();
    turn.part({ id: "prt_1", type: "text", text: "", time: { start: 1 } });
    const translator = createTranslator(turn.state);
    const first = turn.state.lastNumber + 1;
    const properties = { sessionID: root, messageID: answer, partID: "prt_1", field: "text", delta: "word " };
    const payload = { type: "message.part.delta", properties };
    for (let count = 0; count < 100_000; count++) {
      translator.apply({ type: "agent", number: first + count, directory: null, payload });
    }
    expect(turn.state.parts.get("prt_1")?.text).toBe("word ".repeat(100_000));
  });
});

describe("settling", () => {
  test("keeps what was shown of an answer that was cut by the agent's death, and fails what still ran", () => {
    const turn = begin();
    turn.part({ id: "prt_1", type: "text", text: "", time: { start: 1 } });
    turn.delta("prt_1", "half an ans");
    turn.part({ id: "prt_2", type: "tool", tool: "bash", callID: "a", state: { status: "running", input: {} } });
    const parts = [{ id: "prt_1", messageID: answer, sessionID: root, type: "text", text: "", time: { start: 1 } }];
    const messages = [
      { info: { id: prompt, role: "user" as const, sessionID: root }, parts: [] },
      { info: { id: answer, role: "assistant" as const, sessionID: root, parentID: prompt, time: {} }, parts },
    ];
    const waiting = settle({ state: turn.state, messages });
    expect(waiting).toMatchObject({ outcome: { type: "unfinished" }, changes: [] });
    const ended = settle({ state: turn.state, messages, end: true });
    applyChanges(turn.log, ended.changes);
    expect(turn.texts()).toEqual(["half an ans"]);
    expect(turn.log.entries.get("prt_2")).toMatchObject({ open: false, body: { status: "failed" } });
  });

  test("finds a failed try in the list, where its retry was never heard of", () => {
    const turn = begin();
    const ended = { start: 1, end: 2 };
    turn.part({ id: "prt_1", type: "step-start" });
    turn.part({ id: "prt_2", type: "reasoning", text: "thought", time: ended });
    turn.part({ id: "prt_3", type: "tool", tool: "edit", state: { status: "pending", input: {}, raw: "" } });
    turn.lose(9);
    const of = { messageID: answer, sessionID: root };
    const cut = { status: "error", input: {}, raw: "", error: "Tool execution aborted" };
    const parts = [
      { ...of, id: "prt_1", type: "step-start" },
      { ...of, id: "prt_2", type: "reasoning", text: "thought", time: ended },
      { ...of, id: "prt_3", type: "tool", tool: "edit", callID: "a", state: cut },
      { ...of, id: "prt_4", type: "text", text: "never seen", time: ended },
      { ...of, id: "prt_5", type: "step-start" },
      { ...of, id: "prt_6", type: "text", text: "answer", time: ended },
    ];
    const info = { id: answer, role: "assistant" as const, sessionID: root, parentID: prompt };
    const messages = [
      { info: { id: prompt, role: "user" as const, sessionID: root }, parts: [] },
      { info: { ...info, finish: "stop", time: { completed: 3 } }, parts },
    ];
    const settled = settle({ state: turn.state, messages });
    applyChanges(turn.log, settled.changes);
    expect([...turn.log.entries.values()].map(({ key, discarded }) => [key, discarded])).toEqual([
      ["prt_2", true],
      ["prt_3", true],
      ["prt_6", false],
    ]);
    expect(settle({ state: settled.state, messages }).changes).toEqual([]);
  });

  test("says when the agent does not know the prompt", () => {
    expect(settle({ state: begin().state, messages: [] }).outcome).toEqual({ type: "missing" });
  });
});

describe("a restored translation", () => {
  test("joins text that continues in several entries", () => {
    const row = { key: "prt_1", kind: "agent_message" as const, under: null };
    const state = restoreState({
      root,
      userMessageId: prompt,
      appliedEvent: 7,
      entries: [
        { ...row, open: false, body: { text: "first " } },
        { ...row, open: true, body: { text: "second", continues: 1 } },
      ],
    });
    expect(state.parts.get("prt_1")).toMatchObject({ text: "first second", open: true });
    expect(state.lastNumber).toBe(7);
  });

  test("learns from the list which message a finished part is of, so that a retry takes it along", () => {
    const closed = { kind: "agent_thought" as const, under: null, open: false, body: { text: "thought" } };
    const entries = [
      { ...closed, key: "prt_1" },
      { ...closed, key: "prt_2" },
    ];
    const state = restoreState({ root, userMessageId: prompt, appliedEvent: 7, entries });
    const next = "msg_100000000002AAAAAAAAAAAAAA";
    const message = (id: string, part: string) => ({
      info: { id, role: "assistant" as const, sessionID: root, parentID: prompt },
      parts: [{ id: part, messageID: id, sessionID: root, type: "reasoning", text: "thought" }],
    });
    const asked = { info: { id: prompt, role: "user" as const, sessionID: root }, parts: [] };
    recallMessages(state, { messages: [asked, message(answer, "prt_1"), message(next, "prt_2")], children: [] });
    const status = { type: "retry", attempt: 1, message: "cut", next: 5 };
    const payload = { type: "session.status", properties: { sessionID: root, status } };
    const { changes } = createTranslator(state).apply({ type: "agent", number: 8, directory: null, payload });
    expect(changes).toEqual([{ type: "discard", keys: ["prt_2"], attempt: 1, reason: "cut" }]);
  });

  test("learns from the list which model took a step whose message began before", () => {
    const state = restoreState({ root, userMessageId: prompt, appliedEvent: 7, entries: [] });
    const tokens = { input: 1, output: 2, reasoning: 0, cache: { read: 0, write: 0 } };
    const part = { id: "prt_9", type: "step-finish", messageID: answer, sessionID: root, cost: 0, tokens };
    const payload = { type: "message.part.updated", properties: { sessionID: root, part } };
    createTranslator(state).apply({ type: "agent", number: 8, directory: null, payload });
    expect(state.steps.get("prt_9")).toMatchObject({ modelId: null, tokens: { output: 2 } });
    const info = { id: answer, role: "assistant" as const, sessionID: root, parentID: prompt };
    const model = { providerID: "demo", modelID: "demo", finish: "stop", time: { completed: 1 } };
    const messages = [
      { info: { id: prompt, role: "user" as const, sessionID: root }, parts: [] },
      { info: { ...info, ...model }, parts: [part] },
    ];
    const { steps } = settle({ state, messages }).state;
    expect([...steps]).toMatchObject([["prt_9", { providerId: "demo", modelId: "demo" }]]);
  });
});

function retry(turn: ReturnType<typeof begin>, attempt: number, eventId?: string): void {
  turn.agent("session.status", { status: { type: "retry", attempt, message: "cut", next: 5 } }, eventId);
}

function begin({ prompted } = { prompted: true }) {
  const state = initialState({ root, userMessageId: prompt });
  const translator = createTranslator(state);
  const log = createTestLog();
  const changes: ReturnType<typeof translator.apply>["changes"] = [];
  const signals: ReturnType<typeof translator.apply>["signals"] = [];
  const apply = (event: NumberedEvent) => {
    const result = translator.apply(event);
    applyChanges(log, result.changes);
    changes.push(...result.changes);
    signals.push(...result.signals);
  };
  const agent = (type: string, properties: Record<string, unknown>, id = "evt_1") =>
    apply({
      type: "agent",
      number: state.lastNumber + 1,
      directory: null,
      payload: { id, type, properties: { sessionID: root, ...properties } },
    });
  if (prompted) {
    agent("message.updated", { info: { id: prompt, role: "user", sessionID: root } });
    agent("message.updated", { info: { id: answer, role: "assistant", sessionID: root, parentID: prompt } });
  }
  return {
    state,
    log,
    changes,
    signals,
    agent,
    part: (part: Record<string, unknown>) =>
      agent("message.part.updated", { part: { messageID: answer, sessionID: root, ...part } }),
    delta: (partID: string, delta: string) =>
      agent("message.part.delta", { messageID: answer, partID, field: "text", delta }),
    lose: (count: number) => apply({ type: "gap", from: state.lastNumber + 1, to: state.lastNumber + count }),
    life: (what: "exited" | "events-lost", cause: string | null = null) =>
      apply({ type: "life", number: state.lastNumber + 1, life: 1, what, cause }),
    texts: () => [...log.entries.values()].flatMap(({ body }) => ("text" in body ? [body.text] : [])),
  };
}
