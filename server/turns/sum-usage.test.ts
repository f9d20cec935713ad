import { afterAll, beforeAll, expect, test } from "vitest";
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
  const turnId = await server.prompt(sessionId, "run `echo begun; sleep 6`");
  await server.follow(sessionId, ({ entries }) => JSON.stringify(entries).includes('"output":"begun'));
  await server.restart();
  expect(textOf(await server.follow(sessionId, ended()))).toContain("begun");
  const turn = await turns().find(server.viewer, { sessionId, turnId });
  const { turn: short } = await ask("my name is Bo");
  // The first of its two calls was made for the server before.
  expect(turn?.usage.tokens.input).toBeGreaterThan((short?.usage.tokens.input ?? 0) * 1.5);
});
