import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";
import { input, makeFile, outputsOf } from "./test-verbs.ts";

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

test("an undone turn is gone from files and memory, stays readable, and can be brought back", patience, async () => {
  const { sessionId, made } = await makeFile(server);
  expect(await outputsOf(server, sessionId)).toEqual(["outputs/made.txt"]);

  await turns().undo(server.viewer, input(sessionId));
  const undone = await server.follow(sessionId, ended(3));
  expect(ends(undone)[2]?.body).toEqual({ outcome: "finished" });
  expect(undone.entries.findLast(({ kind }) => kind === "turn-undo")?.body).toEqual({ turnIds: [made] });
  expect(await outputsOf(server, sessionId)).toEqual([]);
  expect((await turns().find(server.viewer, { sessionId, turnId: made }))?.undoneAt).not.toBeNull();
  expect(undone.entries.filter(({ turnId }) => turnId === made)).not.toHaveLength(0);

  await turns().redo(server.viewer, input(sessionId));
  const redone = await server.follow(sessionId, ended(4));
  expect(redone.entries.findLast(({ kind }) => kind === "turn-redo")?.body).toEqual({ turnIds: [made] });
  expect(await outputsOf(server, sessionId)).toEqual(["outputs/made.txt"]);
  await expect(turns().redo(server.viewer, input(sessionId))).rejects.toMatchObject({ kind: "conflict" });

  await turns().undo(server.viewer, input(sessionId));
  await server.follow(sessionId, ended(5));
  await server.prompt(sessionId, "what do you remember");
  const after = await server.follow(sessionId, ended(6));
  const answer = textOf({ entries: after.entries.slice(undone.entries.length) });
  expect(answer).toContain("Ada");
  expect(answer).not.toContain("Bo");
  // What the agent has heard something new after is gone for good.
  await expect(turns().redo(server.viewer, input(sessionId))).rejects.toMatchObject({ kind: "conflict" });
});

test("turns are undone one after another, and not while something runs", patience, async () => {
  const sessionId = await server.newSession();
  await expect(turns().undo(server.viewer, input(sessionId))).rejects.toMatchObject({ kind: "conflict" });
  const first = await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
  const second = await server.prompt(sessionId, "run `echo begun; sleep 30`");
  await server.follow(sessionId, ({ entries }) => JSON.stringify(entries).includes('"output":"begun'));
  await expect(turns().undo(server.viewer, input(sessionId))).rejects.toMatchObject({ kind: "conflict" });
  await turns().stop(server.viewer, sessionId);
  await server.follow(sessionId, ended(2));
  const key = input(sessionId);
  const same = await Promise.all([turns().undo(server.viewer, key), turns().undo(server.viewer, key)]);
  expect(same[0]?.id).toBe(same[1]?.id);
  await server.follow(sessionId, ended(3));
  await turns().undo(server.viewer, input(sessionId));
  const state = await server.follow(sessionId, ended(4));
  const undone = state.entries.flatMap((entry) => (entry.kind === "turn-undo" ? [entry.body.turnIds] : []));
  expect(undone).toEqual([[second], [first]]);
  await expect(turns().undo(server.viewer, input(sessionId))).rejects.toMatchObject({ kind: "conflict" });
  await expect(turns().undo(server.viewer, input(crypto.randomUUID()))).rejects.toMatchObject({ kind: "not-found" });
});

test("a summary is a turn of its own, after which the agent still knows what was said", patience, async () => {
  const sessionId = await server.newSession();
  await expect(turns().compact(server.viewer, input(sessionId))).rejects.toMatchObject({ kind: "conflict" });
  await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
  const { id, kind } = await turns().compact(server.viewer, input(sessionId));
  expect(kind).toBe("compact");
  const state = await server.follow(sessionId, ended(2));
  expect(ends(state)[1]?.body).toEqual({ outcome: "finished" });
  const own = state.entries.filter(({ turnId }) => turnId === id);
  expect(own.map((entry) => entry.kind)).toEqual(["memory-note", "agent_thought", "usage", "turn-end"]);
  expect(own[0]?.body).toMatchObject({ status: "compacted" });
  const turn = await turns().find(server.viewer, { sessionId, turnId: id });
  expect(turn?.usage.tokens.output).toBeGreaterThan(0);
  await server.prompt(sessionId, "what is my name?");
  expect(textOf(await server.follow(sessionId, ended(3)))).toContain("Your name is Ada");
});
