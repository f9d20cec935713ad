import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unknownDetails } from "../protocol/model-details.ts";
import { letGo, untilLetGo } from "./test-gate.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";

// Everything is real and shares one sandbox: each test has a session of its own.
let server: TestServer;
beforeAll(async () => {
  server = await createTestServer();
}, 120_000);
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 90_000 };
const turns = () => server.services.turns;

async function ask(prompt: string) {
  const sessionId = await server.newSession();
  const turnId = await server.prompt(sessionId, prompt);
  const state = await server.follow(sessionId, ended());
  return { state, turn: await turns().find(server.viewer, { sessionId, turnId }) };
}

test("what a turn used is that of its steps: tokens by kind, cost, model and times", patience, async () => {
  const { state, turn } = await ask("make a todo list and work through it");
  const usage = state.entries.find((entry) => entry.kind === "usage");
  expect(turn?.usage).toMatchObject({ providerId: "demo", modelId: "demo", cost: 0 });
  expect(usage?.body).toEqual({ ...turn?.usage, milliseconds: expect.any(Number) });
  expect(Date.parse(turn?.endedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(turn?.startedAt ?? ""));
  expect(Date.parse(turn?.startedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(turn?.queuedAt ?? ""));
  // Seven calls of the model, so more than one call could have used.
  const { turn: short } = await ask("my name is Bo");
  expect(turn?.usage.tokens.input).toBeGreaterThan((short?.usage.tokens.input ?? 0) * 3);
});

test("a try that failed adds nothing to what the turn used", patience, async () => {
  const { state, turn } = await ask("drop the connection once");
  expect(state.entries.some(({ kind }) => kind === "parts-discard")).toBe(true);
  expect(ends(state)[0]?.body).toEqual({ outcome: "finished" });
  const { turn: short } = await ask("my name is Bo");
  expect(turn?.usage.tokens.input).toBeGreaterThan(0);
  expect(turn?.usage.tokens.input).toBeLessThan((short?.usage.tokens.input ?? 0) * 1.5);
});

test("steps before a takeover count too", patience, async () => {
  const sessionId = await server.newSession();
  const turnId = await server.prompt(sessionId, `run \`echo begun; ${untilLetGo}\``);
  await server.follow(sessionId, ({ entries }) => JSON.stringify(entries).includes('"output":"begun'));
  await server.restart();
  await letGo(server, sessionId);
  expect(textOf(await server.follow(sessionId, ended()))).toContain("begun");
  const turn = await turns().find(server.viewer, { sessionId, turnId });
  const { turn: short } = await ask("my name is Bo");
  // The first of its two calls was made for the server before.
  expect(turn?.usage.tokens.input).toBeGreaterThan((short?.usage.tokens.input ?? 0) * 1.5);
});

// Last: another default model is another configuration of the agent.
test("a turn costs what its tokens cost, cached and reasoned ones too, or is not known to", patience, async () => {
  const provider = createServer((_request, response) => {
    const usage = {
      prompt_tokens: 1500,
      completion_tokens: 300,
      prompt_tokens_details: { cached_tokens: 1000 },
      completion_tokens_details: { reasoning_tokens: 100 },
    };
    const chunk = (delta: object, finish: string | null = null) =>
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream" });
    chunk({ content: "Here." });
    chunk({}, "stop");
    response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  try {
    const { models } = server.services;
    const baseUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
    const { id } = await models.addProvider(server.viewer, { kind: "openai-compatible", name: "Priced", baseUrl });
    const model = { providerId: id, modelId: "some/model" };
    await models.chooseModels(server.viewer, id, [{ id: model.modelId, name: "Model", enabled: true }]);
    await models.chooseDefault(server.viewer, model);

    const { turn: unknown, state } = await ask("what does this cost");
    const tokens = { input: 500, output: 200, reasoning: 100, cacheRead: 1000, cacheWrite: 0 };
    expect(unknown?.usage).toEqual({ ...model, tokens, cost: null });
    expect(state.entries.find((entry) => entry.kind === "usage")?.body).toMatchObject({ cost: null });

    const price = { input: 2, output: 10, cacheRead: 0.5, cacheWrite: null };
    await models.changeModel(server.viewer, { ...model, details: { ...unknownDetails, price } });
    const { turn, state: priced } = await ask("and this");
    expect(turn?.usage).toEqual({ ...model, tokens, cost: 0.0045 });
    expect(priced.entries.find((entry) => entry.kind === "usage")?.body).toMatchObject({ cost: 0.0045 });
  } finally {
    provider.closeAllConnections();
    provider.close();
  }
});
