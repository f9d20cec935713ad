import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAgentIds } from "./agent-ids.ts";
import { createAgentClient } from "./create-agent-client.ts";
import type { AgentClient, AgentMessage } from "./index.ts";
import { startTestAgent, type TestAgent } from "./test-agent.ts";

const signal = AbortSignal.timeout(600_000);
const ids = createAgentIds();
const patient = { timeout: 60_000, interval: 50 };
let agent: TestAgent;
let client: AgentClient;
/** Shared where it does not matter: opencode needs seconds to get ready for a new one. */
let shared: string;

beforeAll(async () => {
  agent = await startTestAgent();
  client = createAgentClient({ sidecar: agent.sidecar });
  shared = agent.createDirectory();
}, 60_000);

afterAll(() => agent?.close());

describe("a session of the agent", { timeout: 90_000 }, () => {
  test("is made where there is none, and kept from then on", async () => {
    const { agentSessionId } = await begin();
    expect(agentSessionId).toMatch(/^ses_/);
    expect(await client.keepSession({ agentSessionId, directory: shared, signal })).toBe(true);
  });

  test.each(["ses_e1e62b131ffeZHc3uf2O0zA68B", "nonsense", "ses_../x"])(
    "is not kept when the agent cannot know it: %s",
    async (agentSessionId) => {
      expect(await client.keepSession({ agentSessionId, directory: shared, signal })).toBe(false);
    },
  );

  test("is moved when its files are elsewhere now", async () => {
    const first = agent.createDirectory();
    const { agentSessionId } = await begin(first);
    const second = `${first}-moved`;
    cpSync(first, second, { recursive: true });
    expect(await client.keepSession({ agentSessionId, directory: second, signal })).toBe(true);
    await prompt(agentSessionId, "say moved");
    await expect.poll(() => lastText(agentSessionId), patient).toBe("moved");
    const [answer] = (await client.listMessages(agentSessionId, signal)).slice(-1);
    expect(answer?.info.path).toMatchObject({ cwd: second });
  });

  test("is neither kept nor replaced when the agent answers anything else", async () => {
    const broken = createAgentClient({
      sidecar: { ...agent.sidecar, send: (request) => agent.sidecar.send({ ...request, path: "/agent/session/x" }) },
    });
    const input = { agentSessionId: "ses_e1e62b131ffeZHc3uf2O0zA68B", directory: "/x", signal };
    await expect(broken.keepSession(input)).rejects.toMatchObject({
      kind: "upstream",
      code: "500",
      requestId: expect.stringMatching(/^err_/),
      message: expect.stringContaining("The agent could not find the session."),
    });
  });

  test("tells its messages from one on, however many there are before it", async () => {
    const { agentSessionId } = await begin();
    for (let turn = 0; turn < 20; turn += 1) {
      await prompt(agentSessionId, `say ${turn}`);
      await expect.poll(() => lastText(agentSessionId), patient).toBe(String(turn));
    }
    const asked: string[] = [];
    const watched = createAgentClient({
      sidecar: {
        ...agent.sidecar,
        send(request) {
          asked.push(request.path);
          return agent.sidecar.send(request);
        },
      },
    });
    await idle(agentSessionId);
    const idsOf = ({ info, parts }: AgentMessage) => [info.id, ...parts.map(({ id }) => id)];
    const all = await watched.listMessages(agentSessionId, signal);
    expect(all.length).toBe(40);
    const since = async (id = "") => {
      asked.length = 0;
      const listed = await watched.listMessages(agentSessionId, signal, ({ info }) => info.id === id);
      expect(listed.map(idsOf)).toEqual(all.slice(-listed.length).map(idsOf));
      return { listed: listed.map(({ info }) => info.id), requests: asked.length };
    };
    const newest = await since(all.at(-2)?.info.id);
    expect(newest.listed).toContain(all.at(-2)?.info.id);
    expect(newest).toMatchObject({ requests: 1, listed: { length: 30 } });
    const oldest = await since(all[0]?.info.id);
    expect(oldest).toMatchObject({ requests: 2, listed: { length: all.length } });
    expect(await since("msg_00000000000000000000000000")).toMatchObject({ listed: { length: all.length } });
  });

  test("whose list does not end is an error", async () => {
    const message = { info: { id: "msg_1", role: "user", sessionID: "ses_1" }, parts: [] };
    const endless = createAgentClient({
      sidecar: {
        ...agent.sidecar,
        async send() {
          const body = Readable.from([Buffer.from(JSON.stringify([message]))]);
          return { status: 200, headers: { "x-next-cursor": "again" }, body };
        },
      },
    });
    await expect(endless.listMessages("ses_e1e62b131ffeZHc3uf2O0zA68B", signal)).rejects.toMatchObject({
      fault: "agent-answer",
      cause: { message: "The list of messages does not end" },
    });
  });

  test("can be deleted, and again, and when it never was", async () => {
    const failures: unknown[] = [];
    const careful = createAgentClient({
      sidecar: agent.sidecar,
      onDeleteFailed: (error) => failures.push(error),
    });
    const { agentSessionId, directory } = await begin();
    await careful.deleteSession(agentSessionId, signal);
    await careful.deleteSession(agentSessionId, signal);
    await careful.deleteSession("nonsense", signal);
    expect(failures).toEqual([]);
    expect(await client.keepSession({ agentSessionId, directory, signal })).toBe(false);
  });
});

describe("a prompt", { timeout: 90_000 }, () => {
  test("is answered once, however often it is sent", async () => {
    const { agentSessionId } = await begin();
    const input = { agentSessionId, messageId: ids.messageId(), text: "say only-once", signal };
    await client.prompt(input);
    await client.prompt(input);
    await expect.poll(() => lastText(agentSessionId), patient).toBe("only-once");
    await client.prompt(input);
    await idle(agentSessionId);
    const asked = agent.model.requests.filter((messages) => messages.at(-1)?.text === "say only-once");
    expect(asked).toHaveLength(1);
    const messages = await client.listMessages(agentSessionId, signal);
    expect(messages.map(({ info }) => info.role)).toEqual(["user", "assistant"]);
    expect(messages[0]?.parts.map((part) => part.text)).toEqual(["say only-once"]);
    expect(messages[1]?.info.parentID).toBe(input.messageId);
  });

  test("can be stopped, and the next one is clean", async () => {
    const { agentSessionId, directory } = await begin();
    await prompt(agentSessionId, "slow 500");
    await expect.poll(() => client.listBusy(directory, signal), patient).toEqual([agentSessionId]);
    await client.abort(agentSessionId, signal);
    await expect.poll(() => client.listBusy(directory, signal), patient).toEqual([]);
    await prompt(agentSessionId, "say clean");
    await expect.poll(() => lastText(agentSessionId), patient).toBe("clean");
  });

  test("to a session that is unknown fails and says so", async () => {
    const input = { messageId: ids.messageId(), text: "say x", signal };
    await expect(client.prompt({ ...input, agentSessionId: "ses_e1e62b131ffeZHc3uf2O0zA68B" })).rejects.toMatchObject({
      kind: "not-found",
      code: "404",
    });
    await expect(client.prompt({ ...input, agentSessionId: "../x" })).rejects.toMatchObject({ kind: "internal" });
  });

  test("is sent again when nobody knows whether it arrived", async () => {
    const { agentSessionId } = await begin();
    let failures = 0;
    const shaky = createAgentClient({
      sidecar: {
        ...agent.sidecar,
        async send(request) {
          const answer = await agent.sidecar.send(request);
          failures += 1;
          if (failures < 3) throw new Error("The answer was lost.");
          return answer;
        },
      },
    });
    const input = { messageId: ids.messageId(), text: "say sent-again", signal };
    await shaky.prompt({ ...input, agentSessionId });
    await expect.poll(() => lastText(agentSessionId), patient).toBe("sent-again");
    expect(failures).toBe(3);
    expect(agent.model.requests.filter((messages) => messages.at(-1)?.text === "say sent-again")).toHaveLength(1);
  });

  test("that nobody answers is given up in time", async () => {
    const slow = createAgentClient({
      sidecar: {
        ...agent.sidecar,
        send: ({ signal: given }) =>
          new Promise((_, reject) => given.addEventListener("abort", () => reject(given.reason))),
      },
      timeouts: { request: 10 },
    });
    await expect(slow.listBusy("/x", signal)).rejects.toMatchObject({ kind: "timeout" });
    const own = AbortSignal.abort(new Error("mine"));
    await expect(slow.listBusy("/x", own)).rejects.toThrow("mine");
  });
});

describe("a conversation", { timeout: 90_000 }, () => {
  test("is taken back with its files, brought back, and made final by the next prompt", async () => {
    const directory = agent.createDirectory();
    const { agentSessionId } = await begin(directory);
    const messageId = ids.messageId();
    const text = 'call write {"filePath":"made.txt","content":"made"}';
    await client.prompt({ agentSessionId, messageId, text, signal });
    await expect.poll(() => lastText(agentSessionId), patient).toBe("done");
    await idle(agentSessionId);
    const made = join(directory, "made.txt");
    expect(existsSync(made)).toBe(true);
    await client.revert({ agentSessionId, messageId, signal });
    expect(existsSync(made)).toBe(false);
    await client.unrevert(agentSessionId, signal);
    expect(existsSync(made)).toBe(true);
    await client.revert({ agentSessionId, messageId, signal });
    await prompt(agentSessionId, "hello");
    await expect
      .poll(
        async () => (await client.listMessages(agentSessionId, signal)).some(({ info }) => info.id === messageId),
        patient,
      )
      .toBe(false);
    const unknown = { agentSessionId, messageId: ids.messageId(), signal };
    await idle(agentSessionId);
    await expect(client.revert(unknown)).rejects.toMatchObject({ kind: "not-found" });
  });

  test("is summarised by the model that answered it", async () => {
    const { agentSessionId } = await begin();
    await prompt(agentSessionId, "hello");
    await expect.poll(() => lastText(agentSessionId), patient).toBeTruthy();
    await idle(agentSessionId);
    await client.summarize({ agentSessionId, providerId: "scripted", modelId: "scripted", signal });
    const messages = await client.listMessages(agentSessionId, signal);
    expect(messages.flatMap(({ parts }) => parts).some(({ type }) => type === "compaction")).toBe(true);
    expect(messages.at(-1)?.info).toMatchObject({ role: "assistant", summary: true });
  });
});

describe("what the agent asks", { timeout: 90_000 }, () => {
  const questions = [{ question: "Which?", header: "Which", options: [{ label: "A", description: "a" }] }];

  test("is listed, answered once, and then no longer known", async () => {
    const { agentSessionId, directory } = await begin();
    await prompt(agentSessionId, `call question ${JSON.stringify({ questions })}`);
    await expect.poll(() => client.listQuestions(directory, signal), patient).toHaveLength(1);
    const [question] = await client.listQuestions(directory, signal);
    expect(question).toMatchObject({
      agentSessionId,
      request: { questions: [{ text: "Which?", options: [{ label: "A", description: "a" }] }] },
    });
    const reply = { requestId: question?.id ?? "", answers: [["A"]], directory, signal };
    await client.replyQuestion(reply);
    await expect.poll(() => lastText(agentSessionId), patient).toBe("done");
    await expect(client.replyQuestion(reply)).rejects.toMatchObject({ kind: "not-found", code: "404" });
  });

  test("may be a permission", async () => {
    const { agentSessionId, directory } = await begin();
    await prompt(agentSessionId, 'call bash {"command":"echo allowed","description":"d"}');
    await expect.poll(() => client.listPermissions(directory, signal), patient).toHaveLength(1);
    const [permission] = await client.listPermissions(directory, signal);
    expect(permission).toMatchObject({ agentSessionId, request: { permission: "bash" } });
    await client.replyPermission({ requestId: permission?.id ?? "", reply: "once", directory, signal });
    await expect.poll(() => lastText(agentSessionId), patient).toBe("done");
    const parts = (await client.listMessages(agentSessionId, signal)).flatMap(({ parts }) => parts);
    expect(parts.find(({ type }) => type === "tool")?.state).toMatchObject({ output: "allowed\n" });
  });
});

async function begin(directory = shared) {
  return { agentSessionId: await client.createSession({ directory, title: "test", signal }), directory };
}

function prompt(agentSessionId: string, text: string): Promise<void> {
  return client.prompt({ agentSessionId, messageId: ids.messageId(), text, signal });
}

async function lastText(agentSessionId: string): Promise<unknown> {
  const last = (await client.listMessages(agentSessionId, signal)).at(-1);
  return last?.info.role === "assistant" ? last.parts.findLast(({ type }) => type === "text")?.text : null;
}

async function idle(agentSessionId: string): Promise<void> {
  const isComplete = ({ info }: AgentMessage) =>
    info.role === "user" || (info.time as { completed?: number }).completed !== undefined;
  await expect
    .poll(async () => (await client.listMessages(agentSessionId, signal)).every(isComplete), patient)
    .toBe(true);
}
