import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolCallBody } from "../protocol/log-entry.ts";
import {
  type AgentClient,
  type AgentIds,
  createAgentClient,
  createAgentIds,
  createEventBus,
  createTranslator,
  type EventBus,
  initialState,
  type Settlement,
  settle,
  type TurnSignal,
} from "./index.ts";
import { startTestAgent, type TestAgent } from "./test-agent.ts";
import { applyChanges, createTestLog, type TestLog } from "./test-capture.ts";

const signal = AbortSignal.timeout(600_000);
const patient = { timeout: 20_000, interval: 20 };
let agent: TestAgent;
let client: AgentClient;
let bus: EventBus;
let directory: string;

beforeAll(async () => {
  agent = await startTestAgent();
  client = createAgentClient({ sidecar: agent.sidecar });
  bus = createEventBus({ sidecar: agent.sidecar });
  directory = agent.createDirectory();
}, 60_000);

afterAll(async () => {
  await bus?.close();
  await agent?.close();
});

/** All the parts together, as a turn uses them, with the real opencode. */
describe("a turn of the agent", { timeout: 90_000 }, () => {
  test("ends in a log that needs no settling, with its file made", async () => {
    const filePath = join(directory, "hello.txt");
    const { log, settled, signals } = await runTurn({
      text: `call write ${JSON.stringify({ filePath, content: "hello\n" })}`,
    });
    expect(readFileSync(filePath, "utf8")).toBe("hello\n");
    expect(settled).toMatchObject({ outcome: { type: "finished", finish: "stop" }, changes: [] });
    const entries = [...log.entries.values()];
    expect(entries.map(({ kind, open }) => ({ kind, open }))).toEqual([
      { kind: "tool_call", open: false },
      { kind: "agent_message", open: false },
    ]);
    expect(entries[0]?.body).toMatchObject({
      tool: "write",
      status: "completed",
      content: [{ type: "diff", path: filePath, oldText: null, newText: "hello\n" }],
    } satisfies Partial<ToolCallBody>);
    expect(entries[1]?.body).toEqual({ text: "done" });
    // The first busy may come before the prompt is known, and then says nothing of this turn.
    const told = signals.map(({ type }) => type).filter((type) => type !== "busy");
    expect(told).toEqual(["idle"]);
    expect([...settled.state.steps]).toHaveLength(2);
  });

  test("that is stopped keeps what was said, once", async () => {
    const { log, settled } = await runTurn({
      text: "slow 500",
      async onWord(agentSessionId, words) {
        if (words === 5) await client.abort(agentSessionId, signal);
      },
    });
    expect(settled.outcome).toEqual({ type: "aborted" });
    const [entry, ...others] = [...log.entries.values()];
    expect(others).toEqual([]);
    const { text } = (entry?.body ?? { text: "" }) as { text: string };
    expect(text).toMatch(/^w0 w1 w2 w3 w4 /);
    expect(text.trim().split(" ")).toEqual(
      text
        .trim()
        .split(" ")
        .map((_, index) => `w${index}`),
    );
    expect(entry?.verbatim).toMatchObject({ type: "text", text });
  });

  test.each([60_000, -60_000])(
    "asks the model once, also when the server's clock is %i ms off the sandbox's",
    async (off) => {
      const { agentSessionId } = await runTurn({ text: "say before" });
      const before = agent.model.requests.length;
      const ids = createAgentIds(() => Date.now() + off);
      const { settled, log } = await runTurn({ text: "say after", agentSessionId, ids });
      expect(agent.model.requests.length - before).toBe(1);
      expect(settled.outcome.type).toBe("finished");
      expect([...log.entries.values()].map(({ body }) => body)).toEqual([{ text: "after" }]);
    },
  );
});

async function runTurn({
  text,
  onWord = async () => {},
  ids = createAgentIds(),
  ...given
}: {
  text: string;
  onWord?: (agentSessionId: string, words: number) => Promise<void>;
  ids?: AgentIds;
  agentSessionId?: string;
}): Promise<{ agentSessionId: string; log: TestLog; settled: Settlement; signals: TurnSignal[] }> {
  const agentSessionId = given.agentSessionId ?? (await client.createSession({ directory, title: "test", signal }));
  const messageId = ids.messageId();
  const translator = createTranslator(initialState({ root: agentSessionId, userMessageId: messageId, title: "test" }));
  const events = bus.subscribe({ root: agentSessionId, after: bus.passed });
  // The test's sidecar cannot resume, so nothing may happen before it is connected.
  await expect.poll(() => bus.connected, patient).toBe(true);
  await client.prompt({ agentSessionId, messageId, text, signal });
  const log = createTestLog();
  const signals: TurnSignal[] = [];
  let words = 0;
  for await (const event of events) {
    const { changes, signals: more } = translator.apply(event);
    applyChanges(log, changes);
    signals.push(...more);
    if (changes.some(({ type }) => type === "append")) await onWord(agentSessionId, ++words);
    if (more.some(({ type }) => type === "idle")) break;
  }
  const read = async () =>
    settle({ state: translator.state, messages: await client.listMessages(agentSessionId, signal) });
  await expect.poll(async () => (await read()).outcome.type, patient).not.toBe("unfinished");
  const settled = await read();
  applyChanges(log, settled.changes);
  return { agentSessionId, log, settled, signals };
}
