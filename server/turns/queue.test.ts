import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createAgentClient } from "../agent/index.ts";
import { faultError } from "../errors.ts";
import type { ViewerState } from "../protocol/viewer-state.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";
import { createTestWords } from "./test-words.ts";

// Everything is real and shares one sandbox: each test has a session of its own.
let server: TestServer;
const words = createTestWords();
/** Of the next prompt that the agent is sent. */
let lost: "nothing" | "its answer" | "the prompt" = "nothing";
/** What the agent got, in that order; the next prompt arrives only after this, though the agent accepted it before. */
const arrived: string[] = [];
let onItsWay: Promise<void> | null = null;
beforeAll(async () => {
  server = await createTestServer(
    {},
    {
      demoPace: words,
      // What is on its way here is not given up.
      turnLimits: { silenceMilliseconds: 60_000 },
      createAgentClient(options) {
        const client = createAgentClient(options);
        return {
          ...client,
          async prompt(input) {
            const isLost = lost;
            lost = "nothing";
            if (isLost !== "the prompt") await arrive(() => client.prompt(input), input.text);
            if (isLost !== "nothing") throw faultError("agent-late");
          },
        };
      },
    },
  );
}, 120_000);
async function arrive(send: () => Promise<void>, text: string): Promise<void> {
  const before = onItsWay;
  onItsWay = null;
  const arriving = (before ?? Promise.resolve()).then(() => {
    arrived.push(text);
    return send();
  });
  if (before) arriving.catch(() => {});
  else await arriving;
}

afterEach(() => words.allowAll());
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 90_000 };
const speaks = (characters: number) => (state: ViewerState) => textOf(state).length >= characters;
const turns = () => server.services.turns;
const stateOf = async (sessionId: string, turnId: string) => turns().find(server.viewer, { sessionId, turnId });
const prompts = ({ entries }: ViewerState) =>
  entries.flatMap((entry) => (entry.kind === "prompt" ? [entry.body.text] : []));

/** A turn that stopped in the middle of its answer until all words are allowed, with what waits behind it. */
async function queueBehind(...waiting: string[]) {
  const sessionId = await server.newSession();
  words.allow(20);
  const running = await server.prompt(sessionId, "Give me a long text of 150 words");
  await server.follow(sessionId, speaks(20));
  const ids: string[] = [];
  for (const prompt of waiting) ids.push(await server.prompt(sessionId, prompt));
  return { sessionId, running, ids };
}

const queueOf = async (sessionId: string) =>
  ((await server.services.log.state(server.viewer, sessionId))?.queue ?? []).map(({ prompt }) => prompt);

describe("what waits", () => {
  test("can be edited, put into another order and taken out, and begins as it was left", patience, async () => {
    const { sessionId, ids } = await queueBehind("my name is A", "my name is B", "my name is C", "my name is D");
    const [a = "", b = "", c = "", d = ""] = ids;
    const { viewer } = server;
    await turns().change(viewer, { sessionId, turnId: d, before: b });
    expect(await queueOf(sessionId)).toEqual(["my name is A", "my name is D", "my name is B", "my name is C"]);
    await turns().change(viewer, { sessionId, turnId: a, before: null });
    await turns().change(viewer, { sessionId, turnId: c, prompt: "my name is E" });
    await turns().removeQueued(viewer, { sessionId, turnId: b });
    const waiting = ["my name is D", "my name is E", "my name is A"];
    expect(await queueOf(sessionId)).toEqual(waiting);
    await expect(turns().change(viewer, { sessionId, turnId: c, prompt: " " })).rejects.toMatchObject({
      kind: "invalid-input",
    });
    await server.restart();
    expect(await queueOf(sessionId)).toEqual(waiting);
    await turns().stop(viewer, sessionId);
    words.allowAll();
    const state = await server.follow(sessionId, ended(4));
    expect(prompts(state).slice(1)).toEqual(waiting);
  });

  test("is another person's to nobody, and unknown to who asks for what is not there", patience, async () => {
    const { sessionId, ids } = await queueBehind("my name is A");
    const key = { sessionId, turnId: ids[0] ?? "" };
    const stranger = { ...server.viewer, userId: crypto.randomUUID() as typeof server.viewer.userId };
    expect(await turns().find(stranger, key)).toBeNull();
    await expect(turns().change(stranger, { ...key, prompt: "x" })).rejects.toMatchObject({ kind: "not-found" });
    await expect(turns().removeQueued(stranger, key)).rejects.toMatchObject({ kind: "not-found" });
    await expect(turns().sendNow(stranger, key)).rejects.toMatchObject({ kind: "not-found" });
    await expect(turns().sendNow(server.viewer, { ...key, turnId: "none" })).rejects.toMatchObject({
      kind: "not-found",
    });
    await turns().removeQueued(server.viewer, key);
    await turns().stop(server.viewer, sessionId);
  });

  test("cannot be changed once it has begun, and an edit that comes in between is not lost", patience, async () => {
    const sessionId = await server.newSession();
    const { viewer } = server;
    const turnId = await server.prompt(sessionId, "my name is before");
    // Races the beginning: either it is refused, or it is what the agent hears.
    const edited = await turns()
      .change(viewer, { sessionId, turnId, prompt: "my name is after" })
      .then(
        () => true,
        (error: { kind: string }) => error.kind !== "conflict",
      );
    const state = await server.follow(sessionId, ended());
    expect(prompts(state)).toEqual([edited ? "my name is after" : "my name is before"]);
    const key = { sessionId, turnId };
    for (const change of [
      () => turns().change(viewer, { ...key, prompt: "x" }),
      () => turns().change(viewer, { ...key, before: null }),
      () => turns().removeQueued(viewer, key),
      () => turns().sendNow(viewer, key),
    ]) {
      await expect(change()).rejects.toMatchObject({ kind: "conflict" });
    }
    expect((await stateOf(sessionId, turnId))?.state).toBe("finished");
  });

  test("is not begun with words that were read before an edit", async () => {
    const sessionId = await server.newSession();
    const { viewer, database } = server;
    const [row] = await database.transaction(viewer, (tx) =>
      tx.execute(sql`
        insert into turns (tenant_id, user_id, session_id, prompt, idempotency_key, position)
        values (${viewer.tenantId}, ${viewer.userId}, ${sessionId}, 'old', 'key', 1) returning id`),
    );
    const turnId = String(row?.id);
    const opening = { actor: viewer, sessionId, turnId, sandboxId: null, leaseEpoch: 0, bootId: null, fresh: true };
    const writer = await server.services.log.openWriter(opening);
    await turns().change(viewer, { sessionId, turnId, prompt: "new" });
    await expect(writer.beginTurn({ prompt: "old", revision: 0 })).rejects.toMatchObject({ kind: "conflict" });
    expect(await stateOf(sessionId, turnId)).toMatchObject({ state: "queued", prompt: "new" });
    await turns().removeQueued(viewer, { sessionId, turnId });
  });
});

describe("sent now", () => {
  test("a message joins the running turn: one end for both, its prompt where it came in", patience, async () => {
    const { sessionId, running, ids } = await queueBehind("never before the other", "my name is Joined");
    const [, joined = ""] = ids;
    await turns().sendNow(server.viewer, { sessionId, turnId: joined });
    await server.follow(sessionId, (state) => prompts(state).length === 2);
    expect(await stateOf(sessionId, joined)).toMatchObject({ state: "joined", hostTurnId: running });
    words.allowAll();
    const state = await server.follow(sessionId, ended(2));
    expect(prompts(state)).toEqual(["Give me a long text of 150 words", "my name is Joined", "never before the other"]);
    // The host ends once, after both were answered.
    const end = state.entries.find(({ kind }) => kind === "turn-end");
    const answer = state.entries.find((entry) => entry.kind === "agent_message" && /Joined/.test(entry.body.text));
    expect(answer?.number).toBeLessThan(end?.number ?? 0);
    expect(end?.turnId).toBe(running);
    const [host, guest] = [await stateOf(sessionId, running), await stateOf(sessionId, joined)];
    expect(guest).toMatchObject({ state: "finished", hostTurnId: running, usage: { cost: 0, modelId: null } });
    expect(guest?.endedAt).toBe(host?.endedAt);
    expect(host?.usage).toMatchObject({ providerId: "demo", modelId: "demo" });
    // Two answers were given in it, each of them a step with tokens of its own.
    const last = await stateOf(sessionId, ids[0] ?? "");
    expect(host?.usage.tokens.input).toBeGreaterThan(last?.usage.tokens.input ?? 0);
  });

  test("a message that joined is not lost when the server is replaced, and is heard once", patience, async () => {
    const { sessionId, ids } = await queueBehind("my name is Joined");
    const [joined = ""] = ids;
    await turns().sendNow(server.viewer, { sessionId, turnId: joined });
    await server.follow(sessionId, (state) => prompts(state).length === 2);
    await server.restart();
    words.allowAll();
    const state = await server.follow(sessionId, ended());
    expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
    expect(prompts(state)).toHaveLength(2);
    expect(textOf(state)).toContain("Joined");
    expect(await stateOf(sessionId, joined)).toMatchObject({ state: "finished" });
  });

  test("a message whose server died before the agent had it is sent by the next one", patience, async () => {
    const { sessionId, running, ids } = await queueBehind("my name is Joined");
    const [joined = ""] = ids;
    await server.wiring.closeTurns();
    await server.database.transaction(server.viewer, (tx) =>
      tx.execute(sql`
        update turns set state = 'joined', host_turn_id = ${running}, started_at = now(),
          agent_message_id = (select overlay(agent_message_id placing 'ffff' from 9 for 4) from turns where id = ${running})
        where id = ${joined}`),
    );
    await server.restart();
    words.allowAll();
    const state = await server.follow(sessionId, ended());
    expect(prompts(state)).toHaveLength(2);
    expect(textOf(state)).toContain("Joined");
    expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
  });

  test("a message does not overtake the one that it joins", patience, async () => {
    const [sessionId, other] = [await server.newSession(), await server.newSession()];
    await server.prompt(other, "my name is Other");
    await server.follow(other, ended());
    const arrives = Promise.withResolvers<void>();
    onItsWay = arrives.promise;
    await server.prompt(sessionId, "my name is First");
    await expect.poll(() => onItsWay === null, { timeout: 20_000 }).toBe(true);
    const joined = await server.prompt(sessionId, "my name is Second");
    await turns().sendNow(server.viewer, { sessionId, turnId: joined });
    // A whole turn beside it: time enough.
    await server.prompt(other, "what is my name?");
    await server.follow(other, ended(2));
    arrives.resolve();
    await server.follow(sessionId, (state) => prompts(state).length === 2);
    const ours = arrived.filter((text) => /First|Second/.test(text));
    expect(ours[0]).toBe("my name is First");
  });

  test.each(["its answer", "the prompt"] as const)(
    "a message of which %s was lost is heard once, and answered in the turn that it joined",
    patience,
    async (what) => {
      const { sessionId, running, ids } = await queueBehind("my name is Joined");
      const [joined = ""] = ids;
      lost = what;
      await turns().sendNow(server.viewer, { sessionId, turnId: joined });
      await server.follow(sessionId, (state) => prompts(state).length === 2);
      await expect.poll(() => lost, { timeout: 20_000 }).toBe("nothing");
      words.allowAll();
      await server.follow(sessionId, ended());
      await server.prompt(sessionId, "what do you remember");
      const state = await server.follow(sessionId, ended(2));
      expect(await stateOf(sessionId, joined)).toMatchObject({ state: "finished", hostTurnId: running });
      expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "finished" }, { outcome: "finished" }]);
      const last = state.entries.filter(({ turnId }) => turnId === state.entries.at(-1)?.turnId);
      expect(textOf({ entries: last }).match(/- my name is Joined/g)).toHaveLength(1);
      expect(prompts(state).filter((prompt) => prompt === "my name is Joined")).toHaveLength(1);
    },
  );

  test("stopping the turn stops what joined it, and the rest of the queue goes on", patience, async () => {
    const { sessionId, ids } = await queueBehind("Give me a long text of 300 words", "my name is Next");
    const [joined = "", next = ""] = ids;
    await turns().sendNow(server.viewer, { sessionId, turnId: joined });
    await server.follow(sessionId, (state) => prompts(state).length === 2);
    await turns().stop(server.viewer, sessionId);
    // Only then: with its words it might finish before the agent hears of the stop.
    await server.follow(sessionId, ended(1));
    words.allowAll();
    await server.follow(sessionId, ended(2));
    expect(await stateOf(sessionId, joined)).toMatchObject({ state: "stopped" });
    expect(await stateOf(sessionId, next)).toMatchObject({ state: "finished" });
  });

  test("where nothing runs it simply begins", patience, async () => {
    const sessionId = await server.newSession();
    const turnId = await server.prompt(sessionId, "my name is Bo");
    await turns()
      .sendNow(server.viewer, { sessionId, turnId })
      .catch(() => {});
    expect(ends(await server.follow(sessionId, ended()))).toHaveLength(1);
    expect(await stateOf(sessionId, turnId)).toMatchObject({ state: "finished", hostTurnId: null });
  });
});
