import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentClient, createAgentClient } from "../agent/index.ts";
import { AppError } from "../errors.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";

// The real stack with the demo model; calls named in `broken` fail before they reach the agent.
let server: TestServer;
let client: AgentClient;
const broken = new Set<keyof AgentClient>();

beforeAll(async () => {
  server = await createTestServer(
    {},
    {
      createAgentClient(options) {
        client = createAgentClient(options);
        return new Proxy(client, {
          get: (target, name: keyof AgentClient) =>
            broken.has(name)
              ? () => Promise.reject(new AppError("upstream", `${name} is broken.`, { code: "500" }))
              : target[name],
        });
      },
    },
  );
}, 120_000);
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 90_000 };
const signal = () => AbortSignal.timeout(30_000);

async function agentSessionOf(sessionId: string): Promise<string> {
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.execute(sql`select agent_session_id from sessions where id = ${sessionId}`),
  );
  return String(row?.agent_session_id);
}

/** A conversation with a tool call, whose agent's session is then lost. */
async function loseConversation(): Promise<{ sessionId: string; lost: string }> {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "Remember that my name is Ada Lovelace.");
  await server.follow(sessionId, ended(1));
  await server.prompt(sessionId, "run `echo acorn-$((40+2))`");
  await server.follow(sessionId, ended(2));
  const lost = await agentSessionOf(sessionId);
  await client.deleteSession(lost, signal());
  return { sessionId, lost };
}

/** What the agent now holds, as `role: type text` lines. */
async function agentLines(agentSessionId: string): Promise<string[]> {
  const messages = await client.listMessages(agentSessionId, signal());
  return messages.flatMap(({ info, parts }) =>
    parts
      .filter(({ type }) => type === "text" || type === "tool")
      .map((part) => `${info.role}: ${part.type} ${part.type === "tool" ? JSON.stringify(part.state) : part.text}`),
  );
}

async function expectGivenBack(sessionId: string, lost: string): Promise<void> {
  await server.prompt(sessionId, "What is my name?");
  const state = await server.follow(sessionId, ended(3));
  expect(ends(state)[2]?.body).toEqual({ outcome: "finished" });
  // The model answers from what it receives: this is in no other message than the first prompt.
  expect(textOf(state)).toContain("Your name is Ada Lovelace.");
  expect(state.session?.memory).toMatchObject({ status: "replayed", cause: expect.stringContaining("given back") });
  expect(state.entries.filter(({ kind }) => kind === "memory-note").map(({ body }) => body)).toMatchObject([
    { status: "replayed" },
  ]);
  const replacement = await agentSessionOf(sessionId);
  expect(replacement).not.toBe(lost);
  const lines = await agentLines(replacement);
  expect(lines[0]).toBe("user: text Remember that my name is Ada Lovelace.");
  expect(lines[1]).toMatch(/^assistant: text I will remember that/);
  expect(lines[2]).toBe("user: text run `echo acorn-$((40+2))`");
  expect(lines.find((line) => line.startsWith("assistant: tool"))).toContain("acorn-42");
  expect(lines.at(-2)).toBe("user: text What is my name?");
}

test("a lost session is replaced in the same turn, and the model receives the conversation", patience, async () => {
  const { sessionId, lost } = await loseConversation();
  await expectGivenBack(sessionId, lost);
  // And from here on it is a session like any other, also when it is lost again.
  const second = await agentSessionOf(sessionId);
  await client.deleteSession(second, signal());
  await server.prompt(sessionId, "Who am I?");
  const state = await server.follow(sessionId, ended(4));
  expect(textOf(state).match(/Your name is Ada Lovelace/g)).toHaveLength(2);
  expect(await agentSessionOf(sessionId)).not.toBe(second);
});

test("opencode import is the second way", patience, async () => {
  const { sessionId, lost } = await loseConversation();
  broken.add("replaySession");
  try {
    await expectGivenBack(sessionId, lost);
  } finally {
    broken.clear();
  }
});

test("where neither works the turn goes on, and person and agent are told", patience, async () => {
  const { sessionId } = await loseConversation();
  broken.add("replaySession").add("importSession");
  try {
    await server.prompt(sessionId, "What is my name?");
    const state = await server.follow(sessionId, ended(3));
    expect(ends(state)[2]?.body).toEqual({ outcome: "finished" });
    expect(textOf(state)).toContain("You have not told me your name");
    expect(state.session?.memory).toMatchObject({ status: "fresh", cause: expect.stringContaining("is broken") });
    const notes = state.entries.filter(({ kind }) => kind === "memory-note").map(({ body }) => body);
    expect(notes).toMatchObject([{ status: "fresh", message: expect.stringContaining("knows only what you tell it") }]);
    const lines = await agentLines(await agentSessionOf(sessionId));
    expect(lines[0]).toMatch(/^user: text <system-reminder>\n.*memory of this session was lost/);
    expect(lines[1]).toBe("user: text What is my name?");
  } finally {
    broken.clear();
  }
  // The note is a boundary: what was before it is not given back later.
  await client.deleteSession(await agentSessionOf(sessionId), signal());
  await server.prompt(sessionId, "what did I tell you?");
  const state = await server.follow(sessionId, ended(4));
  expect(textOf(state)).not.toContain("You told me in this session:\n\n- Remember");
  expect(state.session?.memory.status).toBe("replayed");
});

test("another lookup error fails the turn, and nothing is replaced", patience, async () => {
  const { sessionId, lost } = await loseConversation();
  broken.add("keepSession");
  try {
    await server.prompt(sessionId, "What is my name?");
    const state = await server.follow(sessionId, ended(3));
    expect(ends(state)[2]?.body).toMatchObject({ outcome: "failed", message: "keepSession is broken." });
    expect(await agentSessionOf(sessionId)).toBe(lost);
  } finally {
    broken.clear();
  }
  await server.prompt(sessionId, "What is my name?");
  expect(textOf(await server.follow(sessionId, ended(4)))).toContain("Your name is Ada Lovelace.");
});

test("a session is intact from its first turn on, also after the server began anew", patience, async () => {
  const sessionId = await server.newSession();
  const memory = async () => (await server.services.log.state(server.viewer, sessionId))?.memory;
  expect(await memory()).toEqual({ status: "fresh", cause: null, at: null });
  await server.prompt(sessionId, "Remember that my name is Ada Lovelace.");
  expect((await server.follow(sessionId, ended(1))).session?.memory).toMatchObject({ status: "intact", cause: null });
  const before = await memory();
  await server.restart();
  await server.prompt(sessionId, "What is my name?");
  const state = await server.follow(sessionId, ended(2));
  expect(textOf(state)).toContain("Your name is Ada Lovelace.");
  expect(await memory()).toEqual(before);
});
