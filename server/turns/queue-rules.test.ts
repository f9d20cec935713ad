import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { queueHead, queueLimits } from "../protocol/limits.ts";
import { createSessions } from "../sessions/create-sessions.ts";
import { createTestLog, type TestLog } from "../sessions/test-log.ts";
import { beginOrQueue } from "./begin-or-queue.ts";
import { changeQueue } from "./change-queue.ts";
import type { TurnContext } from "./turn-context.ts";
import { listTurns } from "./turn-rows.ts";

// Nothing runs here: what is asked for waits, as it does behind a turn.
let log: TestLog;
let sessionId = "";
beforeAll(async () => {
  log = await createTestLog();
});
beforeEach(async () => {
  const sessions = createSessions({ database: log.database, log: log.log, release: async () => {} });
  sessionId = (await sessions.create(log.viewer)).id;
});
afterAll(async () => {
  await log[Symbol.asyncDispose]();
});

const queue = () =>
  changeQueue({ database: log.database, onChanged: async () => {}, onQueued() {}, onSendNow: async () => {} });

async function ask(prompt: string, idempotencyKey: string = crypto.randomUUID()) {
  const context = { database: log.database, log: log.log } as TurnContext;
  const runners = { isQuiet: () => false };
  const accepted = await beginOrQueue(context, log.viewer, { sessionId, prompt, idempotencyKey, runners });
  if (!accepted) throw new Error("There is no such session.");
  return accepted.turn;
}

const compact = (idempotencyKey: string) => queue().compact(log.viewer, { sessionId, idempotencyKey });
const change = (turnId: string, to: { prompt?: string; before?: string | null }) =>
  queue().change(log.viewer, { sessionId, turnId, ...to });
const page = (before: string | null, limit: number) =>
  listTurns(log.database, log.viewer, { sessionId, before, limit });
const words = async () => (await page(null, 100)).turns.map(({ prompt }) => prompt);

describe("a key that comes again", () => {
  test("gives the same turn for the same words, edited since or not", async () => {
    const turn = await ask("first words", "key");
    expect((await ask("first words", "key")).id).toBe(turn.id);
    await change(turn.id, { prompt: "other words" });
    expect(await ask("first words", "key")).toMatchObject({ id: turn.id, prompt: "other words" });
  });

  test("is refused with other words, also with those that the turn has by now", async () => {
    const turn = await ask("first words", "key");
    await change(turn.id, { prompt: "other words" });
    for (const prompt of ["other words", "first words "]) {
      await expect(ask(prompt, "key")).rejects.toMatchObject({ kind: "key-reused" });
    }
    expect(await words()).toEqual(["other words"]);
  });

  test("is refused for another verb, and gives the same turn for the same one", async () => {
    await ask("words", "prompt-key");
    await expect(compact("prompt-key")).rejects.toMatchObject({ kind: "key-reused" });
    const summary = await compact("compact-key");
    expect((await compact("compact-key")).id).toBe(summary.id);
    await expect(ask("words", "compact-key")).rejects.toMatchObject({ kind: "key-reused" });
    await expect(ask("", "compact-key")).rejects.toMatchObject({ kind: "key-reused" });
    const undo = queue().undo(log.viewer, { sessionId, idempotencyKey: "compact-key" });
    await expect(undo).rejects.toMatchObject({ kind: "key-reused" });
  });

  test("gives its turn also when the queue is full by then", async () => {
    const turn = await ask("first words", "key");
    await fill(queueLimits.maxTurns - 1);
    expect((await ask("first words", "key")).id).toBe(turn.id);
  });
});

async function fill(turns: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; number < turns; number++) ids.push((await ask(`message ${number}`)).id);
  return ids;
}

describe("a change of what waits", () => {
  test("is one write: words and place together", async () => {
    const [first = "", , third = ""] = await fill(3);
    await change(third, { prompt: "new words", before: first });
    expect(await words()).toEqual(["new words", "message 0", "message 1"]);
  });

  test("changes nothing when it is refused", async () => {
    const [first = ""] = await fill(3);
    const gone = crypto.randomUUID();
    await expect(change(first, { prompt: "new words", before: gone })).rejects.toMatchObject({ kind: "conflict" });
    await expect(change(first, { prompt: " ", before: null })).rejects.toMatchObject({ kind: "invalid-input" });
    const summary = await compact("key");
    await expect(change(summary.id, { prompt: "x", before: first })).rejects.toMatchObject({ kind: "conflict" });
    expect(await words()).toEqual(["message 0", "message 1", "message 2", ""]);
  });
});

describe("a queue", () => {
  test("takes so many turns, whatever they are", async () => {
    const [first = ""] = await fill(queueLimits.maxTurns);
    await expect(ask("one more")).rejects.toMatchObject({ kind: "limit-exceeded" });
    await expect(compact("key")).rejects.toMatchObject({ kind: "limit-exceeded" });
    await queue().removeQueued(log.viewer, { sessionId, turnId: first });
    await ask("one more");
  });

  test("takes so many words", async () => {
    const large = "a".repeat(256 * 1024);
    const fitting = queueLimits.maxBytes / large.length;
    for (let number = 0; number < fitting - 1; number++) await ask(large);
    const last = await ask("small");
    await expect(ask(large)).rejects.toMatchObject({ kind: "limit-exceeded" });
    await change(last.id, { prompt: large });
    await expect(ask("x")).rejects.toMatchObject({ kind: "limit-exceeded" });
    await expect(change(last.id, { prompt: `${large}x` })).rejects.toMatchObject({ kind: "too-large" });
  });

  test("that is as full as it can be makes a small event: its head, and who else waits", async () => {
    const large = "ä".repeat(40_000);
    const ids: string[] = [];
    for (let number = 0; number < queueLimits.maxTurns; number++) ids.push((await ask(`${number} ${large}`)).id);
    const state = await log.log.state(log.viewer, sessionId);
    expect([...(state?.queue.map(({ id }) => id) ?? []), ...(state?.queueRest ?? [])]).toEqual(ids);
    expect(state?.queue).toHaveLength(queueHead.turns);
    expect(state?.queue[0]).toMatchObject({ prompt: `0 ${large}`.slice(0, queueHead.characters), isCut: true });
    expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(16 * 1024);
    const whole = await log.log.queue(log.viewer, sessionId);
    expect(whole?.map(({ id }) => id)).toEqual(ids);
    expect(Buffer.byteLength(JSON.stringify(whole))).toBeLessThan(64 * 1024);
  });

  test("shows short words whole, and is another person's to nobody", async () => {
    await ask("short");
    expect((await log.log.state(log.viewer, sessionId))?.queue).toMatchObject([{ prompt: "short", isCut: false }]);
    const stranger = { ...log.viewer, userId: crypto.randomUUID() as typeof log.viewer.userId };
    expect(await log.log.queue(stranger, sessionId)).toBeNull();
    expect(await log.log.queue(log.viewer, "no id")).toBeNull();
  });
});

test("turns are listed from the newest, a page at a time", async () => {
  const ids = await fill(5);
  const newest = await page(null, 2);
  expect(newest.turns.map(({ id }) => id)).toEqual(ids.slice(3));
  const middle = await page(newest.earlier, 2);
  expect(middle.turns.map(({ id }) => id)).toEqual(ids.slice(1, 3));
  const oldest = await page(middle.earlier, 2);
  expect(oldest.turns.map(({ id }) => id)).toEqual(ids.slice(0, 1));
  expect(oldest.earlier).toBeNull();
  expect(await page(crypto.randomUUID(), 2)).toEqual({ turns: [], earlier: null });
});
