import { afterAll, beforeAll, expect, test } from "vitest";
import type { TextBody } from "../protocol/log-entry.ts";
import { decodeCursor, encodeCursor } from "../protocol/session-events.ts";
import { applySessionEvents, emptyViewerState, type ViewerState } from "../protocol/viewer-state.ts";
import { followedSessions } from "./follow-many.ts";
import { createTestLog, shown, type TestLog } from "./test-log.ts";

let test_: TestLog;
beforeAll(async () => {
  test_ = await createTestLog();
});
afterAll(async () => {
  await test_[Symbol.asyncDispose]();
});

async function follow(sessionIds: string[], cursor: string, until: (states: Map<string, ViewerState>) => boolean) {
  const leaving = new AbortController();
  const states = new Map<string, ViewerState>();
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(15_000)]);
  let last = cursor;
  const input = { actor: test_.viewer, sessionIds, cursor: decodeCursor(cursor), signal };
  for await (const { sessionId, event, cursor: next } of test_.log.followMany(input)) {
    states.set(sessionId, applySessionEvents(states.get(sessionId) ?? emptyViewerState, [event]));
    if (next) last = encodeCursor(next);
    if (until(states)) leaving.abort();
  }
  if (!until(states)) throw new Error("The stream ended before what was awaited.");
  return { states, cursor: last };
}

const text = (state: ViewerState | undefined) => (state?.entries.at(-1)?.body as TextBody | undefined)?.text;

test("several sessions share a connection, and its cursor leads each of them on", async () => {
  const [one, two] = [await test_.begin(), await test_.begin()];
  const ids = [one.sessionId, two.sessionId];
  for (const { writer } of [one, two]) {
    await writer.apply([{ type: "open", key: "a", kind: "agent_message", body: { text: "first" }, under: null }], 1);
    await writer.flush();
  }
  const both = await follow(ids, "", (states) => ids.every((id) => text(states.get(id)) === "first"));
  await two.writer.apply([{ type: "close", key: "a", verbatim: null }], 2);
  await two.writer.flush();
  const later = await follow(ids, both.cursor, (states) => ids.every((id) => (states.get(id)?.version ?? 0) > 0));
  expect(later.states.get(one.sessionId)?.entries).toEqual([]);
  expect(shown(later.states.get(two.sessionId) ?? emptyViewerState)).toMatchObject([{ number: 2, open: false }]);
  await one.writer.close();
  await two.writer.close();
});

test("a session that is unknown or goes away is left out, and the others go on", async () => {
  const { sessionId, writer } = await test_.begin();
  const unknown = crypto.randomUUID();
  const { states } = await follow([unknown, "damaged", sessionId], "", (found) => found.has(sessionId));
  expect([...states.keys()]).toEqual([sessionId]);
  await writer.close();
});

test("too many sessions at once are refused, and the refusal says how many are not", async () => {
  const many = Array.from({ length: 51 }, () => crypto.randomUUID());
  const refusal = { kind: "invalid-input", message: expect.stringContaining("at most 50 sessions") };
  await expect(follow(many, "", () => true)).rejects.toMatchObject(refusal);
  expect(() => followedSessions(many)).toThrow(expect.objectContaining(refusal));
  expect(followedSessions([...many.slice(1), ...many.slice(1)])).toEqual(many.slice(1));
});
