import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LogChange } from "../agent/index.ts";
import { maxTextPerEntry, type TextBody } from "../protocol/log-entry.ts";
import type { SessionEvent } from "../protocol/session-events.ts";
import { emptyViewerState, type ViewerState } from "../protocol/viewer-state.ts";
import { createSessionLog } from "./create-session-log.ts";
import type { SessionLog } from "./session-log.ts";
import { createRandom, createTestLog, readAll, shown, type TestLog, watch } from "./test-log.ts";

let test_: TestLog;
beforeAll(async () => {
  test_ = await createTestLog();
});
afterAll(async () => {
  await test_[Symbol.asyncDispose]();
});

const open = (key: string, text = "", under: string | null = null): LogChange => ({
  type: "open",
  key,
  kind: "agent_message",
  body: { text },
  under,
});
const append = (key: string, text: string): LogChange => ({ type: "append", key, text });
const close = (key: string, verbatim: unknown = { id: key }): LogChange => ({ type: "close", key, verbatim });
const texts = (entries: ViewerState["entries"]) =>
  entries.flatMap(({ kind, body }) => (kind === "agent_message" ? [(body as TextBody).text] : []));
const read = (sessionId: string, after = 0) => readAll(test_, sessionId, after);

describe("writing", () => {
  test("numbers ascend without holes, and every durable write raises the version", async () => {
    const { sessionId, writer } = await test_.begin();
    await writer.apply([open("a"), append("a", "Hello"), open("b", "there")], 1);
    await writer.flush();
    await writer.apply([append("a", " you")], 2);
    await writer.flush();
    const { entries, version } = await read(sessionId);
    expect(entries.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(texts(entries)).toEqual(["Hello you", "there"]);
    expect(version).toBe(4);
    expect(Math.max(...entries.map((entry) => entry.version))).toBe(version);
    expect((await read(sessionId, 3)).entries.map(({ number }) => number)).toEqual([2]);
    await writer.close();
  });

  test("text goes on in a next entry at 8 KB and a pair of surrogates is never split", async () => {
    const { sessionId, writer } = await test_.begin();
    const text = `${"x".repeat(maxTextPerEntry - 1)}😀${"y".repeat(maxTextPerEntry)}`;
    await writer.apply([open("a")], 1);
    for (let at = 0; at < text.length; at += 997) await writer.apply([append("a", text.slice(at, at + 997))], 2);
    await writer.apply([{ type: "replace", key: "a", body: { text } }, close("a")], 3);
    await writer.close();
    const { entries } = await read(sessionId);
    const pieces = texts(entries);
    expect(pieces.join("")).toBe(text);
    expect(pieces.map(({ length }) => length)).toEqual([maxTextPerEntry - 1, maxTextPerEntry, 2]);
    expect(entries.slice(1).map(({ body }) => (body as TextBody).continues)).toEqual([undefined, 2, 3]);
    expect(entries.every((entry) => !entry.open)).toBe(true);
  });

  test("text that came while its entry was first written is shown with it, also when it is complete by then", async () => {
    const { sessionId, writer } = await test_.begin();
    const seen: SessionEvent[] = [];
    let begun = false;
    const state = await watch({
      log: test_.log,
      viewer: test_.viewer,
      sessionId,
      until: ({ entries }) => entries.some(({ kind, open }) => kind === "agent_message" && !open),
      async onEvent(event) {
        seen.push(event);
        if (event.event !== "entries" || begun) return;
        begun = true;
        // The first leaves at once, and with it an empty text; the others find it on its way.
        await Promise.all(
          [[open("a")], [append("a", "Hello")], [close("a")]].map((one, at) => writer.apply(one, at + 1)),
        );
      },
    });
    expect(texts(state.entries)).toEqual(["Hello"]);
    expect(seen.find(({ event }) => event === "delta")).toMatchObject({
      event: "delta",
      data: { offset: 0, text: "Hello" },
    });
    await writer.close();
  });

  test("half a pair waits for its other half, and what Postgres cannot store is replaced one for one", async () => {
    const { sessionId, writer } = await test_.begin();
    await writer.apply([open("a"), append("a", "a\ud83d")], 1);
    await writer.flush();
    expect(texts((await read(sessionId)).entries)).toEqual(["a"]);
    await writer.apply([append("a", "\ude00b\0c"), open("b", "lone \ud83d"), close("b", { text: "\0" })], 2);
    await writer.close();
    expect(texts((await read(sessionId)).entries)).toEqual(["a😀b\uFFFDc", "lone \uFFFD"]);
  });

  test("a cumulative replacement does not accumulate, shrinks where it must and finds its entries", async () => {
    const { sessionId, writer } = await test_.begin();
    await writer.apply([open("a", "first try ".repeat(2000))], 1);
    await writer.flush();
    await writer.apply([{ type: "replace", key: "a", body: { text: "short" } }], 2);
    await writer.close();
    expect(texts((await read(sessionId)).entries)).toEqual(["short", "", ""]);
  });

  test("a discarded try is marked and named by an entry of its own", async () => {
    const { sessionId, writer } = await test_.begin();
    await writer.apply([open("a", "half an ans")], 1);
    await writer.apply([{ type: "discard", keys: ["a"], attempt: 1, reason: "503" }, open("b", "an answer")], 2);
    await writer.close();
    const { entries } = await read(sessionId);
    expect(entries[1]).toMatchObject({ open: false, body: { text: "half an ans", discarded: true } });
    expect(entries[2]).toMatchObject({ kind: "parts-discard", body: { numbers: [2], attempt: 1, reason: "503" } });
    expect(entries[3]).toMatchObject({ body: { text: "an answer" } });
  });

  test("entries of a subagent stand under its tool call, also when both are new", async () => {
    const { sessionId, writer } = await test_.begin();
    const call = { toolCallId: "t", tool: "task", title: "Task", kind: "other", status: "pending" } as const;
    await writer.apply(
      [
        { type: "open", key: "t", kind: "tool_call", body: { ...call, content: [], locations: [] }, under: null },
        open("a", "below", "t"),
      ],
      1,
    );
    await writer.close();
    expect((await read(sessionId)).entries.map(({ under }) => under)).toEqual([null, null, 2]);
  });

  test("a superseded lease refuses the write, changes nothing and stays refused", async () => {
    const { sessionId, sandboxId, writer } = await test_.begin();
    const before = await read(sessionId);
    await test_.database.transaction(test_.viewer, (tx) =>
      tx.execute(sql`update sandboxes set lease_epoch = 2 where id = ${sandboxId}`),
    );
    await writer.apply([open("a", "too late")], 1);
    await expect(writer.flush()).rejects.toMatchObject({ kind: "conflict" });
    await expect(writer.apply([open("b")], 2)).rejects.toMatchObject({ kind: "conflict" });
    expect(await read(sessionId)).toEqual(before);
  });

  test("of two writers of one turn only the one with the newer lease writes, also its end", async () => {
    const { sessionId, turnId, sandboxId, bootId, writer: old } = await test_.begin();
    await old.apply([open("a", "shared")], 1);
    await old.flush();
    await test_.database.transaction(test_.viewer, (tx) =>
      tx.execute(sql`update sandboxes set lease_epoch = 2 where id = ${sandboxId}`),
    );
    const held = { sandboxId, leaseEpoch: 2, bootId };
    const next = await test_.log.openWriter({ actor: test_.viewer, sessionId, turnId, ...held });
    await Promise.all([
      next.apply([append("a", " and mine")], 2),
      old.apply([append("a", " and lost")], 2).catch(() => {}),
    ]);
    await expect(old.endTurn({ outcome: "failed", usage: null })).rejects.toMatchObject({ kind: "conflict" });
    expect(await next.endTurn({ outcome: "finished", usage: null })).toBe(true);
    await next.close();
    const { entries } = await read(sessionId);
    expect(texts(entries)).toEqual(["shared and mine"]);
    expect(entries.filter(({ kind }) => kind === "turn-end").map(({ body }) => body)).toEqual([
      { outcome: "finished" },
    ]);
  });

  test("the applied event is stored with what it did, and a takeover goes on with the same entries", async () => {
    const { sessionId, turnId, sandboxId, bootId, writer } = await test_.begin();
    const long = "z".repeat(maxTextPerEntry + 10);
    await writer.apply([open("a", long)], 7);
    await writer.flush();
    const [row] = await test_.database.transaction(test_.viewer, (tx) =>
      tx.execute(sql`select applied_event, applied_boot from sessions where id = ${sessionId}`),
    );
    expect(row).toMatchObject({ applied_event: "7", applied_boot: bootId });
    const next = await test_.log.openWriter({
      actor: test_.viewer,
      sessionId,
      turnId,
      sandboxId,
      leaseEpoch: 1,
      bootId,
    });
    await next.apply([append("a", " and on"), close("a")], 8);
    await next.close();
    expect(texts((await read(sessionId)).entries).join("")).toBe(`${long} and on`);
    expect((await read(sessionId)).entries).toHaveLength(3);
  });

  test("a turn ends once: the second end writes nothing", async () => {
    const { sessionId, turnId, sandboxId, bootId, writer } = await test_.begin();
    const other = await test_.log.openWriter({
      actor: test_.viewer,
      sessionId,
      turnId,
      sandboxId,
      leaseEpoch: 1,
      bootId,
    });
    expect(await writer.endTurn({ outcome: "finished", usage: null })).toBe(true);
    const failure = { code: "timeout", message: "late" };
    expect(await other.endTurn({ outcome: "failed", failure, usage: null })).toBe(false);
    const ends = (await read(sessionId)).entries.filter(({ kind }) => kind === "turn-end");
    expect(ends.map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
  });
});

describe("following", () => {
  test("a viewer that arrives in the middle has what others were shown, durable or not", async () => {
    const { sessionId, writer } = await test_.begin();
    await writer.apply([open("a", "One")], 1);
    await writer.flush();
    await writer.apply([append("a", ", two")], 2);
    const state = await watch({
      log: test_.log,
      viewer: test_.viewer,
      sessionId,
      until: ({ entries }) => entries.length > 0,
    });
    expect(texts(state.entries)).toEqual(["One, two"]);
    await writer.close();
  });

  test("text is shown before it is durable, and growth is not sent a second time", async () => {
    const { sessionId, writer } = await test_.begin();
    await writer.apply([open("a", "")], 1);
    await writer.flush();
    const events: SessionEvent[] = [];
    await watch({
      log: test_.log,
      viewer: test_.viewer,
      sessionId,
      until: ({ version }) => version === 3,
      async onEvent(event) {
        events.push(event);
        if (events.length === 2) await writer.apply([append("a", "now")], 2);
        if (event.event === "delta") expect((await read(sessionId)).version).toBe(2);
      },
    });
    expect(events.slice(2)).toEqual([
      { event: "delta", data: { number: 2, offset: 0, text: "now" } },
      { event: "entries", data: { entries: [], version: 3 } },
    ]);
    await writer.close();
  });

  test("nobody follows or reads another person's session", async () => {
    const { sessionId, writer } = await test_.begin();
    const bob = await test_.addPerson(test_.viewer, "bob@example.org", "admin");
    expect(await test_.log.read({ actor: bob, sessionId, after: 0 })).toBeNull();
    const follow = watch({ log: test_.log, viewer: bob, sessionId, until: () => true });
    await expect(follow).rejects.toMatchObject({ kind: "not-found" });
    await writer.close();
  });

  test("viewers of another replica hear of every batch", async () => {
    const { sessionId, writer } = await test_.begin();
    await using replica = Object.assign(createSessionLog({ database: test_.database }), {
      async [Symbol.asyncDispose]() {
        await replica.close();
      },
    });
    const done = watch({
      log: replica,
      viewer: test_.viewer,
      sessionId,
      until: ({ entries }) => texts(entries)[0] === "across" && entries.every((entry) => !entry.open),
    });
    await writer.apply([open("a"), append("a", "acr")], 1);
    await writer.flush();
    await writer.apply([append("a", "oss"), close("a")], 2);
    await writer.flush();
    expect(texts((await done).entries)).toEqual(["across"]);
    await writer.close();
  });

  test("a viewer too slow for its deltas gets whole entries instead, and misses nothing", async () => {
    const { sessionId, writer } = await test_.begin();
    await writer.apply([open("a"), open("b")], 1);
    await writer.flush();
    let seen = 0;
    const gate = Promise.withResolvers<void>();
    const slow = watch({
      log: test_.log,
      viewer: test_.viewer,
      sessionId,
      until: ({ entries }) => entries.some(({ kind }) => kind === "turn-end"),
      async onEvent() {
        seen += 1;
        if (seen === 2) await gate.promise;
      },
    });
    await expect.poll(() => seen).toBe(2);
    for (let index = 0; index < 2000; index += 1) await writer.apply([append(index % 2 ? "a" : "b", "word ")], 2);
    await writer.endTurn({ outcome: "finished", usage: null });
    gate.resolve();
    const state = await slow;
    expect(seen).toBeLessThan(20);
    expect(texts(state.entries)).toEqual(["word ".repeat(1000), "word ".repeat(1000)]);
  });
});

// Invariant 15. Random changes, random cuts, random reconnects, with and without a page reload.
test.each([11, 22, 33, 44])(
  "after any reconnect a viewer's state equals that of one who never left (seed %i)",
  async (seed) => {
    const random = createRandom(seed);
    const { sessionId, writer } = await test_.begin();
    const ended = ({ entries }: ViewerState) => entries.some(({ kind }) => kind === "turn-end");
    const stayed = watch({ log: test_.log, viewer: test_.viewer, sessionId, until: ended });
    // Pages so small that nobody catches up with one, here and at another replica.
    const limits = { entries: 3, bytes: 4_000 };
    const paged = createSessionLog({ database: test_.database, hub: test_.hub, limits });
    const replica = createSessionLog({ database: test_.database, limits });
    const comeAndGo = async (log: SessionLog) => {
      let state = emptyViewerState;
      while (!ended(state)) {
        const stay = 1 + Math.floor(random() * 12);
        const from: ViewerState = random() < 0.2 ? emptyViewerState : state;
        const until = (now: ViewerState, events: number) => events >= stay || ended(now);
        state = await watch({ log, viewer: test_.viewer, sessionId, from, until });
      }
      return state;
    };
    const others = [test_.log, test_.log, paged, paged, replica].map(comeAndGo);

    const keys: string[] = [];
    for (let step = 1; step <= 250; step += 1) {
      await writer.apply([randomChange(random, keys, step)], step);
      if (random() < 0.15) await new Promise((resolve) => setTimeout(resolve, random() * 15));
      if (random() < 0.05) await writer.flush();
    }
    await writer.endTurn({ outcome: "finished", usage: null });
    const expected = shown(await stayed);
    for (const other of await Promise.all(others)) expect(shown(other)).toEqual(expected);
    await Promise.all([paged.close(), replica.close()]);
    const { entries } = await read(sessionId);
    expect(shown({ ...emptyViewerState, entries })).toEqual(expected);
    expect(entries.length).toBeGreaterThan(10);
  },
);

function randomChange(random: () => number, keys: string[], step: number): LogChange {
  const key = keys[Math.floor(random() * keys.length)];
  const roll = random();
  const text = ["word ", "😀", "\ud83d", "x".repeat(Math.floor(random() * 3000)), "\n"][Math.floor(random() * 5)] ?? "";
  if (!key || roll < 0.08) {
    keys.push(`k${step}`);
    return open(`k${step}`, text);
  }
  if (roll < 0.88) return append(key, text);
  if (roll < 0.93) return { type: "replace", key, body: { text: `again ${text}` } };
  if (roll < 0.97) {
    keys.splice(keys.indexOf(key), 1);
    return close(key);
  }
  return { type: "discard", keys: [key], attempt: step, reason: "tried again" };
}
