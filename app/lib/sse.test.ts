import { expect, test } from "vitest";
import type { SessionEvent } from "@/server/protocol/session-events.ts";
import { applySessionEvents, emptyViewerState } from "@/server/protocol/viewer-state.ts";
import { type SseFrame, sseResponse, toFollowedFrame, toFrame } from "./sse.ts";

const never = new AbortController().signal;
const onError = (error: unknown) => {
  throw error;
};

async function* frames(count: number): AsyncGenerator<SseFrame> {
  for (let index = 0; index < count; index += 1) yield { event: "delta", id: null, data: `{"index":${index}}` };
}

test("frames go out as server-sent events that no proxy may transform or keep", async () => {
  const response = sseResponse({ makeFrames: () => frames(2), viewer: never, stopping: never, onError });
  expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
  expect(await response.text()).toBe(
    'retry: 1000\n\nevent: delta\ndata: {"index":0}\n\nevent: delta\ndata: {"index":1}\n\n',
  );
});

test("the server's end is said and ends the stream", async () => {
  const stopping = new AbortController();
  const response = sseResponse({
    async *makeFrames(signal) {
      yield* frames(1);
      setImmediate(() => stopping.abort());
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    viewer: never,
    stopping: stopping.signal,
    onError,
  });
  expect(await response.text()).toMatch(/event: stopping\ndata: \{\}\n\n$/);
});

test("a viewer that leaves ends what was made for it", async () => {
  const ended = Promise.withResolvers<void>();
  const response = sseResponse({
    async *makeFrames(signal) {
      try {
        yield* frames(1);
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        ended.resolve();
      }
    },
    viewer: never,
    stopping: never,
    onError,
  });
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await ended.promise;
});

test("a viewer that does not read holds up what is made for it", async () => {
  let made = 0;
  const leaving = new AbortController();
  const response = sseResponse({
    async *makeFrames() {
      for (; made < 1000; made += 1) yield { event: "delta", id: null, data: `"${"x".repeat(10_000)}"` };
    },
    viewer: leaving.signal,
    stopping: never,
    onError,
  });
  // More rounds than a producer that nothing holds up would need.
  for (let round = 0; round < 2_000; round += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(made).toBeLessThan(20);
  const reader = response.body?.getReader();
  for (let index = 0; index < 20; index += 1) await reader?.read();
  expect(made).toBeGreaterThan(15);
  leaving.abort();
});

test("only entries carry an id, and the shared connection names the session", () => {
  const entries: SessionEvent = { event: "entries", data: { entries: [], version: 7 } };
  expect(toFrame(entries)).toEqual({ event: "entries", id: "7", data: '{"entries":[],"version":7}' });
  expect(toFrame({ event: "stopping", data: {} }).id).toBeNull();
  const sessionId = "0519c465-21be-4e11-82f6-f62e0d136277";
  const followed = toFollowedFrame(entries, sessionId, { [sessionId]: 7 });
  expect(followed.id).toBe(`${sessionId}:7`);
  const data = JSON.parse(followed.data);
  expect(data).toEqual({ sessionId, entries: [], version: 7 });
  expect(applySessionEvents(emptyViewerState, [{ event: "entries", data }]).version).toBe(7);
  expect(JSON.parse(toFollowedFrame({ event: "stopping", data: {} }, sessionId, null).data)).toEqual({ sessionId });
});
