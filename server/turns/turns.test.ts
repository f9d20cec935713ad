import { text } from "node:stream/consumers";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { shown } from "../sessions/test-log.ts";
import { letGo, untilLetGo } from "./test-gate.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";
import { createTestWords } from "./test-words.ts";

// Everything is real and shares one sandbox: each test has a session of its own.
let server: TestServer;
const words = createTestWords();
beforeAll(async () => {
  server = await createTestServer({}, { demoPace: words });
}, 120_000);
afterEach(() => words.allowAll());
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 90_000 };
const speaks = (characters: number) => (state: Parameters<typeof textOf>[0]) => textOf(state).length >= characters;

describe("a turn", () => {
  test(
    "is answered by the real agent, in a log that begins with the prompt, and the next one remembers",
    patience,
    async () => {
      const sessionId = await server.newSession();
      await server.prompt(sessionId, "Remember that my name is Ada Lovelace.");
      const state = await server.follow(sessionId, ended());
      const kinds = state.entries.map(({ kind }) => kind);
      expect(kinds[0]).toBe("prompt");
      expect(kinds).toEqual(expect.arrayContaining(["sandbox-phase", "agent_message", "usage", "turn-end"]));
      expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
      expect(state.entries.every(({ open }) => !open)).toBe(true);
      const [turn] = (await server.services.turns.list(server.viewer, sessionId)).turns;
      expect(turn).toMatchObject({ state: "finished", failure: null });

      await server.prompt(sessionId, "What is my name?");
      const second = await server.follow(sessionId, ended(2));
      expect(textOf(second)).toContain("Your name is Ada Lovelace.");
      // Named by the agent after its first prompt.
      await expect
        .poll(async () => (await server.services.sessions.find(server.viewer, sessionId))?.title)
        .toContain("Ada");
    },
  );

  test("looks the same after a reload in the middle as to one who stayed", patience, async () => {
    const sessionId = await server.newSession();
    words.allow(20);
    await server.prompt(sessionId, "Give me a long text of 60 words");
    const stayed = server.follow(sessionId, ended());
    const left = await server.follow(sessionId, speaks(40));
    const reloaded = server.follow(sessionId, ended());
    const returned = server.follow(sessionId, ended(), left);
    words.allowAll();
    const expected = shown(await stayed);
    expect(shown(await reloaded)).toEqual(expected);
    expect(shown(await returned)).toEqual(expected);
  });

  test(
    "ends as stopped within moments of the stop, with the text so far, and the next one works",
    patience,
    async () => {
      const sessionId = await server.newSession();
      words.allow(40);
      await server.prompt(sessionId, "Give me a long text of 3000 words");
      await server.follow(sessionId, speaks(80));
      expect(await server.services.turns.stop(server.viewer, sessionId)).toBe(true);
      const state = await server.follow(sessionId, ended());
      expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "stopped" }]);
      expect(textOf(state).length).toBeGreaterThanOrEqual(80);
      expect(await server.services.turns.stop(server.viewer, sessionId)).toBe(false);
      words.allowAll();
      await server.prompt(sessionId, "my name is Bo");
      expect(ends(await server.follow(sessionId, ended(2)))[1]?.body).toEqual({ outcome: "finished" });
    },
  );

  test("waits for the one before it, and can be taken back until it begins", patience, async () => {
    const sessionId = await server.newSession();
    words.allow(10);
    await server.prompt(sessionId, "Give me a long text of 30 words");
    await server.follow(sessionId, speaks(1));
    const removed = await server.prompt(sessionId, "never asked");
    const second = await server.prompt(sessionId, "my name is Bo");
    const waiting = await server.follow(sessionId, ({ session }) => session?.queue.length === 2);
    expect(waiting.session?.queue.map(({ prompt }) => prompt)).toEqual(["never asked", "my name is Bo"]);
    await server.services.turns.removeQueued(server.viewer, { sessionId, turnId: removed });
    words.allowAll();
    const state = await server.follow(sessionId, ended(2));
    const prompts = state.entries.filter(({ kind }) => kind === "prompt").map(({ body }) => body);
    expect(prompts).toEqual([{ text: "Give me a long text of 30 words" }, { text: "my name is Bo" }]);
    const again = server.services.turns.removeQueued(server.viewer, { sessionId, turnId: second });
    await expect(again).rejects.toMatchObject({ kind: "conflict" });
  });

  test("waits for a person's answer to a question, which is taken once", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, "Ask me a question");
    const asking = await server.follow(sessionId, ({ entries }) => entries.some(({ kind }) => kind === "ask"));
    const ask = asking.entries.find((entry) => entry.kind === "ask");
    if (!ask) throw new Error("not asked");
    const { questions } = ask.body.request as { questions: { options: { label: string }[] }[] };
    const answers = questions.map(({ options }) => [options[0]?.label ?? ""]);
    const input = { askId: ask.body.askId, answer: { answers } };
    await server.services.turns.answer(server.viewer, input);
    await expect(server.services.turns.answer(server.viewer, input)).rejects.toMatchObject({ kind: "conflict" });
    const state = await server.follow(sessionId, ended());
    expect(state.entries.find(({ kind }) => kind === "ask")?.body).toMatchObject({
      state: "answered",
      answer: answers,
    });
    expect(ends(state)[0]?.body).toEqual({ outcome: "finished" });
  });
});

describe("a turn fails with its cause", () => {
  test("when the model refuses, with the status and its words", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, "fail with 401");
    const state = await server.follow(sessionId, ended());
    expect(ends(state)[0]?.body).toMatchObject({
      outcome: "failed",
      code: "401",
      message: expect.stringMatching(/\w+/),
    });
  });

  test("when opencode is killed, and the next turn works", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, "run `kill -9 $PPID`");
    const state = await server.follow(sessionId, ended());
    expect(ends(state)[0]?.body).toMatchObject({ outcome: "failed", code: "agent-exited" });
    expect(state.entries.every(({ open }) => !open)).toBe(true);
    await server.prompt(sessionId, "my name is Bo");
    expect(ends(await server.follow(sessionId, ended(2)))[1]?.body).toEqual({ outcome: "finished" });
  });

  test("when the sandbox is lost, and the next turn wakes another one", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, "run `kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 30`");
    const state = await server.follow(sessionId, ended());
    expect(ends(state)[0]?.body).toMatchObject({
      outcome: "failed",
      code: expect.stringMatching(/sandbox-lost|stream-error/),
    });
    await server.prompt(sessionId, "my name is Bo");
    expect(ends(await server.follow(sessionId, ended(2)))[1]?.body).toEqual({ outcome: "finished" });
  });
});

test(
  "a turn goes on when the server is replaced in mid-answer: whole, once, with the cut part discarded",
  patience,
  async () => {
    const sessionId = await server.newSession();
    words.allow(20);
    await server.prompt(sessionId, "Give me a long text of 60 words");
    const before = await server.follow(sessionId, speaks(40));
    await server.restart();
    words.allowAll();
    const state = await server.follow(sessionId, ended(), before);
    expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
    expect(state.entries.filter(({ kind }) => kind === "prompt")).toHaveLength(1);
    expect(state.entries.filter(({ kind }) => kind === "parts-discard")).not.toHaveLength(0);
    const fresh = await server.follow(sessionId, ended());
    expect(shown(state)).toEqual(shown(fresh));
    expect(textOf(state).trim().split(/\s+/).length).toBeGreaterThanOrEqual(60);
  },
);

test("a stop by another process counts although nobody could be told of it", patience, async () => {
  const sessionId = await server.newSession();
  words.allow(20);
  const turnId = await server.prompt(sessionId, "Give me a long text of 3000 words");
  await server.follow(sessionId, speaks(20));
  await server.database.transaction(server.viewer, async (tx) => {
    await tx.execute(sql`update turns set stop_requested_at = now() where id = ${turnId}`);
    await tx.execute(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'dormouse-listen' and datname = current_database()`);
  });
  const state = await server.follow(sessionId, ended());
  expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "stopped" }]);
});

test("a tool that runs while the server is replaced loses none of its output", patience, async () => {
  const sessionId = await server.newSession();
  const command = `seq -f 'line %g' 4; ${untilLetGo}; seq -f 'line %g' 5 8`;
  await server.prompt(sessionId, `run \`${command}\``);
  await server.follow(sessionId, ({ entries }) => JSON.stringify(entries).includes("line 2"));
  await server.restart();
  await letGo(server, sessionId);
  const state = await server.follow(sessionId, ended());
  expect(ends(state)[0]?.body).toEqual({ outcome: "finished" });
  const call = state.entries.find(({ kind }) => kind === "tool_call");
  expect(JSON.stringify(call?.body)).toContain([1, 2, 3, 4, 5, 6, 7, 8].map((line) => `line ${line}\\n`).join(""));
});

test("a removed session leaves nothing behind, also while its turn runs", patience, async () => {
  const sessionId = await server.newSession();
  words.allow(20);
  await server.prompt(sessionId, "Give me a long text of 3000 words");
  await server.follow(sessionId, speaks(20));
  const other = await server.newSession();
  expect(await server.services.sessions.remove(server.viewer, sessionId)).toBe(true);
  expect(await server.services.log.read({ actor: server.viewer, sessionId, after: 0 })).toBeNull();
  words.allowAll();
  await server.prompt(other, "run `ls ..`");
  const state = await server.follow(other, ended());
  expect(JSON.stringify(state.entries)).not.toContain(sessionId);
  expect(JSON.stringify(state.entries)).toContain(other);
});

test("files are listed and read within the session, and viewers hear of changes", patience, async () => {
  const sessionId = await server.newSession();
  const { files } = server.services;
  const signal = AbortSignal.timeout(30_000);
  const list = (path: string) => files.list(server.viewer, { sessionId, path, signal });
  await expect(list("")).rejects.toMatchObject({ kind: "unavailable" });
  await server.prompt(sessionId, "run `echo 0123456789 > outputs/made.txt`");
  await server.follow(sessionId, ended());
  expect((await list("outputs")).entries).toMatchObject([{ path: "outputs/made.txt", kind: "file", size: 11 }]);
  const part = await files.read(server.viewer, { sessionId, path: "outputs/made.txt", range: "bytes=2-4", signal });
  expect([part.status, part.contentRange, await text(part.body)]).toEqual([206, "bytes 2-4/11", "234"]);
  await expect(list("../..")).rejects.toMatchObject({ kind: "invalid-input" });
  const missing = files.read(server.viewer, { sessionId, path: "none.txt", range: null, signal });
  await expect(missing).rejects.toMatchObject({ kind: "not-found", message: expect.not.stringContaining(sessionId) });

  const leaving = new AbortController();
  const either = AbortSignal.any([leaving.signal, signal]);
  const heard: string[] = [];
  const stream = server.services.log.follow({ actor: server.viewer, sessionId, after: 0, signal: either });
  for await (const event of stream) {
    if (event.event === "entries" && event.data.entries.some(({ kind }) => kind === "turn-end")) {
      await list("");
      await server.prompt(sessionId, "run `sleep 1; echo more >> outputs/made.txt; echo new > outputs/new.txt`");
    }
    if (event.event === "files") heard.push(...event.data.paths);
    if (heard.includes("outputs/new.txt")) leaving.abort();
  }
  expect(heard).toContain("outputs/made.txt");
  await server.follow(sessionId, ended(2));
});

test("a title given by a person stays, whatever the agent calls the session", patience, async () => {
  const sessionId = await server.newSession();
  const renamed = await server.services.sessions.rename(server.viewer, sessionId, "  Hazel  ");
  expect(renamed?.title).toBe("Hazel");
  await server.prompt(sessionId, "my name is Bo");
  const state = await server.follow(sessionId, ended());
  expect(state.session?.title).toBe("Hazel");
  await expect(server.services.sessions.rename(server.viewer, sessionId, " ")).rejects.toMatchObject({
    kind: "invalid-input",
  });
});

describe("bad input", () => {
  const start = (sessionId: string, prompt: string, viewer = server.viewer) =>
    server.services.turns.start(viewer, { sessionId, prompt, idempotencyKey: "key" });

  test("is refused in words, and nothing is queued", async () => {
    const sessionId = await server.newSession();
    await expect(start(sessionId, " \n")).rejects.toMatchObject({ kind: "invalid-input" });
    await expect(start(sessionId, "x".repeat(256 * 1024 + 1))).rejects.toMatchObject({ kind: "too-large" });
    await expect(start(crypto.randomUUID(), "hello")).rejects.toMatchObject({ kind: "not-found" });
    await expect(start("no id", "hello")).rejects.toMatchObject({ kind: "not-found" });
    const stranger = { ...server.viewer, userId: crypto.randomUUID() as typeof server.viewer.userId };
    await expect(start(sessionId, "hello", stranger)).rejects.toMatchObject({ kind: "not-found" });
    expect(await server.services.turns.list(server.viewer, sessionId)).toEqual({ turns: [], earlier: null });
  });

  test("the same key gives the same turn", patience, async () => {
    const sessionId = await server.newSession();
    const turns = await Promise.all([start(sessionId, "my name is Bo"), start(sessionId, "my name is Bo")]);
    expect(turns[0]?.id).toBe(turns[1]?.id);
    await server.follow(sessionId, ended());
    expect((await server.services.turns.list(server.viewer, sessionId)).turns).toHaveLength(1);
    await server.database.transaction(server.viewer, async (tx) => {
      const rows = await tx.execute(
        sql`select count(*) from log_entries where session_id = ${sessionId} and kind = 'prompt'`,
      );
      expect(Number(rows[0]?.count)).toBe(1);
    });
  });
});
