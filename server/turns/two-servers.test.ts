import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ViewerState } from "../protocol/viewer-state.ts";
import { shown } from "../sessions/test-log.ts";
import { createTestServer, ended, ends, type Peer, type TestServer, textOf } from "./test-turns.ts";
import { createTestWords } from "./test-words.ts";

// One database, one sandbox, two servers that live: the first holds the lease, people come in through the second.
// The first one looks for nothing by itself in these tests: what it does, it was told.
let server: TestServer;
const words = createTestWords();
let other: Peer;
beforeAll(async () => {
  server = await createTestServer({}, { demoPace: words });
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
  other = await server.startReplica();
}, 120_000);
afterEach(() => words.allowAll());
afterAll(async () => {
  await other?.close();
  await server.close();
}, 60_000);

const patience = { timeout: 90_000 };
const speaks = (characters: number) => (state: ViewerState) => textOf(state).length >= characters;
const followThere = (sessionId: string, until: (state: ViewerState) => boolean) =>
  server.follow(sessionId, until, undefined, other.services);
const promptThere = async (sessionId: string, prompt: string) => {
  const input = { sessionId, prompt, idempotencyKey: crypto.randomUUID() };
  return (await other.services.turns.start(server.viewer, input)).id;
};
const prompts = ({ entries }: ViewerState) =>
  entries.flatMap((entry) => (entry.kind === "prompt" ? [entry.body.text] : []));

describe("through a server that does not hold the lease", () => {
  test("a prompt runs at once where the sandbox is, and is seen on both sides alike", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, "my name is Bo");
    await server.follow(sessionId, ended());
    await promptThere(sessionId, "Give me a long text of 40 words");
    const [here, there] = await Promise.all([server.follow(sessionId, ended(2)), followThere(sessionId, ended(2))]);
    expect(ends(there).map(({ body }) => body)).toEqual([{ outcome: "finished" }, { outcome: "finished" }]);
    expect(shown(there)).toEqual(shown(here));
    expect(there.entries.filter(({ kind }) => kind === "sandbox-phase")).toHaveLength(
      here.entries.filter(({ kind }) => kind === "sandbox-phase").length,
    );
  });

  test("a prompt of a session that has no sandbox yet runs where its person's sandbox is", patience, async () => {
    const { id: sessionId } = await other.services.sessions.create(server.viewer);
    await promptThere(sessionId, "my name is New");
    const state = await followThere(sessionId, ended());
    expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
    expect(prompts(state)).toEqual(["my name is New"]);
    expect(state.entries.filter(({ kind }) => kind === "sandbox-phase")).toEqual([]);
  });

  test("text is seen while it grows", patience, async () => {
    const sessionId = await server.newSession();
    words.allow(4);
    await server.prompt(sessionId, "Give me a long text of 60 words");
    const lengths = new Set<number>();
    const state = await followThere(sessionId, (now) => {
      lengths.add(textOf(now).length);
      // The next words come once these were seen.
      words.allow(4 * (lengths.size + 1));
      return ends(now).length > 0;
    });
    expect(lengths.size).toBeGreaterThan(10);
    expect(shown(state)).toEqual(shown(await server.follow(sessionId, ended())));
  });

  test("a stop reaches the turn, and only that turn", patience, async () => {
    const sessionId = await server.newSession();
    words.allow(20);
    await promptThere(sessionId, "Give me a long text of 3000 words");
    await followThere(sessionId, speaks(40));
    await promptThere(sessionId, "my name is Next");
    expect(await other.services.turns.stop(server.viewer, sessionId)).toBe(true);
    const stopped = await followThere(sessionId, ended());
    expect(ends(stopped)[0]?.body).toEqual({ outcome: "stopped" });
    words.allowAll();
    expect(ends(await followThere(sessionId, ended(2)))[1]?.body).toEqual({ outcome: "finished" });
  });

  test("an answer reaches the agent, once", patience, async () => {
    const sessionId = await server.newSession();
    await promptThere(sessionId, "Ask me a question");
    const asking = await followThere(sessionId, ({ entries }) => entries.some(({ kind }) => kind === "ask"));
    const ask = asking.entries.find((entry) => entry.kind === "ask");
    if (!ask) throw new Error("not asked");
    const { questions } = ask.body.request as { questions: { options: { label: string }[] }[] };
    const answers = questions.map(({ options }) => [options[0]?.label ?? ""]);
    const input = { askId: ask.body.askId, answer: { answers } };
    await other.services.turns.answer(server.viewer, input);
    await expect(server.services.turns.answer(server.viewer, input)).rejects.toMatchObject({ kind: "conflict" });
    const state = await followThere(sessionId, ended());
    expect(state.entries.find(({ kind }) => kind === "ask")?.body).toMatchObject({
      state: "answered",
      answer: answers,
    });
  });

  test("the queue is changed, and a message sent now joins the running turn", patience, async () => {
    const sessionId = await server.newSession();
    const { viewer } = server;
    const { turns } = other.services;
    words.allow(20);
    const running = await promptThere(sessionId, "Give me a long text of 150 words");
    await followThere(sessionId, speaks(20));
    const [first, second, third] = [
      await promptThere(sessionId, "removed"),
      await promptThere(sessionId, "before"),
      await promptThere(sessionId, "my name is Joined"),
    ];
    await turns.removeQueued(viewer, { sessionId, turnId: first });
    await turns.change(viewer, { sessionId, turnId: second, prompt: "my name is Edited" });
    await turns.sendNow(viewer, { sessionId, turnId: third });
    const seen = await server.follow(
      sessionId,
      (state) => prompts(state).length === 2 && state.session?.queue.length === 1,
    );
    expect(seen.session?.queue.map(({ prompt }) => prompt)).toEqual(["my name is Edited"]);
    expect(await turns.find(viewer, { sessionId, turnId: third })).toMatchObject({
      state: "joined",
      hostTurnId: running,
    });
    words.allowAll();
    const state = await followThere(sessionId, ended(2));
    expect(prompts(state)).toEqual(["Give me a long text of 150 words", "my name is Joined", "my name is Edited"]);
  });

  test("a session is removed though its turn runs elsewhere", patience, async () => {
    const sessionId = await server.newSession();
    words.allow(20);
    await server.prompt(sessionId, "Give me a long text of 3000 words");
    await server.follow(sessionId, speaks(20));
    expect(await other.services.sessions.remove(server.viewer, sessionId)).toBe(true);
    expect(await server.services.log.read({ actor: server.viewer, sessionId, after: 0 })).toBeNull();
  });
});

describe("a server that loses its lease while it lives", () => {
  test(
    "leaves the running turn to the next one: one end, the same log, and its own writes change nothing",
    patience,
    async () => {
      const prompt = "Give me a long text of 150 words";
      const reference = await server.newSession();
      await server.prompt(reference, prompt);
      const expected = await server.follow(reference, ended());

      const sessionId = await server.newSession();
      words.allow(20);
      await server.prompt(sessionId, prompt);
      const stayed = server.follow(sessionId, ended());
      await server.follow(sessionId, speaks(60));
      await server.handOver();
      words.allowAll();
      const there = await followThere(sessionId, ended());
      expect(ends(there).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
      expect(textOf(there)).toBe(textOf(expected));
      expect(prompts(there)).toEqual([prompt]);
      // Who watched through the first server all the while sees the same.
      expect(shown(await stayed)).toEqual(shown(there));
      const read = await server.services.log.read({ actor: server.viewer, sessionId, after: there.version });
      expect(read?.entries).toEqual([]);
    },
  );

  test("then sends what comes in through it to the new holder", patience, async () => {
    const sessionId = await server.newSession();
    words.allow(20);
    await server.prompt(sessionId, "Give me a long text of 3000 words");
    await server.follow(sessionId, speaks(40));
    await server.services.turns.stop(server.viewer, sessionId);
    const state = await server.follow(sessionId, ended());
    expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "stopped" }]);
    expect(state.entries.filter(({ kind }) => kind === "sandbox-phase")).toEqual([]);
  });
});
