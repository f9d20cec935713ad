import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { encode } from "next-auth/jwt";
import { afterEach, expect, test } from "vitest";
import { readAuthSessionId } from "../auth/read-sign-in.ts";
import { AppError } from "../errors.ts";
import type { SessionEvent } from "../protocol/session-events.ts";
import { applySessionEvents, emptyViewerState } from "../protocol/viewer-state.ts";
import type { ManyEvent } from "../sessions/index.ts";
import { createLiveStreams } from "./live-streams.ts";

const sessionId = "0519c465-21be-4e11-82f6-f62e0d136277";
const secret = "a secret of the tests";
const viewer = { userId: "u", tenantId: "t", role: "user", authSessionId: "known" };
type Followed = {
  after?: number;
  sessionIds?: readonly string[];
  cursor?: Record<string, number>;
  signal: AbortSignal;
};

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** The real HTTP server and streams, with a log of the test's own. */
async function serve(events: (input: Followed) => AsyncIterable<SessionEvent>) {
  const stopping = new AbortController();
  const reported: unknown[] = [];
  const streams = createLiveStreams({
    readAuthSessionId,
    signInSecret: secret,
    stopping: stopping.signal,
    reportError(error: unknown) {
      reported.push(error);
      return "reference";
    },
    admission: { findViewer: async (id: string) => (id === "known" ? viewer : null) },
    sessions: { find: async (_viewer: unknown, id: string) => (id === sessionId ? { id } : null) },
    log: {
      follow: events,
      async *followMany(input: Followed): AsyncGenerator<ManyEvent> {
        for await (const event of events(input)) {
          const version = event.event === "entries" ? event.data.version : null;
          yield { sessionId, event, cursor: version === null ? null : { [sessionId]: version } };
        }
      },
    },
  } as unknown as Parameters<typeof createLiveStreams>[0]);
  const server = createServer((request, response) => {
    if (!streams.handle(request, response)) response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cookie = `other=1; next-auth.session-token=${await encode({ token: { sid: "known" }, secret })}`;
  const call = async (path: string, headers: Record<string, string> = { cookie }, method = "GET") =>
    fetch(`${url}${path}`, { headers, method });
  return { url, cookie, call, stopping, reported };
}

const own = `/api/v1/sessions/${sessionId}/events`;
const delta = (offset: number, text = "word"): SessionEvent => ({
  event: "delta",
  data: { number: 1, offset, text },
});

async function* some(): AsyncGenerator<SessionEvent> {
  yield { event: "entries", data: { entries: [], version: 7 } };
  yield delta(0);
}

test("events go out as server-sent events that no proxy may transform or keep", async () => {
  const { call } = await serve(some);
  const response = await call(own);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
  expect(await response.text()).toBe(
    'retry: 1000\n\nid: 7\nevent: entries\ndata: {"entries":[],"version":7}\n\n' +
      'event: delta\ndata: {"number":1,"offset":0,"text":"word"}\n\n',
  );
});

test("the stream of all sessions names each event's session, and goes on by a cursor", async () => {
  let input: Followed | null = null;
  const { call } = await serve((given) => {
    input = given;
    return some();
  });
  const response = await call(`/api/v1/events?follow=${sessionId},${sessionId}&after=${sessionId}:3`);
  const [, entries = "", told = ""] = (await response.text()).split("\n\n");
  expect(input).toMatchObject({ sessionIds: [sessionId], cursor: { [sessionId]: 3 } });
  expect(entries).toMatch(`id: ${sessionId}:7\nevent: entries\n`);
  const data = JSON.parse(entries.split("data: ")[1] ?? "");
  expect(data).toEqual({ sessionId, entries: [], version: 7 });
  expect(applySessionEvents(emptyViewerState, [{ event: "entries", data }]).version).toBe(7);
  expect(JSON.parse(told.split("data: ")[1] ?? "")).toMatchObject({ sessionId, text: "word" });
});

test.each([
  [{ "last-event-id": "12" }, own, 12],
  [{}, `${own}?after=5`, 5],
  [{ "last-event-id": "x" }, own, 0],
  [{}, `${own}?after=${"9".repeat(40)}`, 0],
])("a viewer that returns with %j to %s goes on after version %d", async (headers, path, after) => {
  let input: Followed | null = null;
  const { call, cookie } = await serve((given) => {
    input = given;
    return some();
  });
  await (await call(path, { ...headers, cookie })).text();
  expect(input).toMatchObject({ after });
});

test("nobody follows who is not signed in, and nobody another's session", async () => {
  const { call, cookie } = await serve(some);
  for (const path of [own, "/api/v1/events"]) {
    for (const headers of [{}, { cookie: "next-auth.session-token=forged" }, { cookie: "=;;=x" }]) {
      const refused = await call(path, headers as Record<string, string>);
      expect(refused.status).toBe(401);
      expect(await refused.json()).toMatchObject({ error: { kind: "unauthenticated" } });
    }
  }
  const unknown = await call("/api/v1/sessions/none/events", { cookie });
  expect(unknown.status).toBe(404);
  expect(await unknown.json()).toMatchObject({ error: { kind: "not-found" } });
});

test("other paths are left to the pages, and other methods refused", async () => {
  const { call, cookie } = await serve(some);
  expect((await call("/api/v1/events/more")).status).toBe(204);
  const refused = await call(own, { cookie }, "POST");
  expect(refused.status).toBe(405);
  expect(refused.headers.get("allow")).toBe("GET");
});

test("the server's end is said and ends the stream", async () => {
  const begun = Promise.withResolvers<void>();
  const { call, stopping } = await serve(async function* ({ signal }) {
    yield delta(0);
    begun.resolve();
    if (!signal.aborted) await once(signal, "abort");
  });
  const response = await call(own);
  await begun.promise;
  stopping.abort();
  expect(await response.text()).toMatch(/event: stopping\ndata: \{\}\n\n$/);
});

test("a viewer that leaves ends what was made for it", async () => {
  const ended = Promise.withResolvers<void>();
  const { url, cookie } = await serve(async function* ({ signal }) {
    try {
      yield delta(0);
      if (!signal.aborted) await once(signal, "abort");
    } finally {
      ended.resolve();
    }
  });
  const request = get(`${url}${own}`, { headers: { cookie } });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.on("error", () => {});
  await once(response, "data");
  request.destroy();
  await ended.promise;
});

test("a viewer that does not read holds up what is made for it", async () => {
  let made = 0;
  const rounds = 2_000;
  const { url, cookie } = await serve(async function* () {
    for (; made < rounds; made += 1) yield delta(0, "x".repeat(100_000));
  });
  const request = get(`${url}${own}`, { headers: { cookie } });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.pause();
  // More rounds than a producer that nothing holds up would need.
  for (let round = 0; round < rounds * 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(made).toBeLessThan(rounds);
  response.resume();
  await once(response, "end");
  expect(made).toBe(rounds);
});

test("what goes wrong in a stream is reported and ends it", async () => {
  const failure = new AppError("internal", "The log is gone.");
  const { call, reported } = await serve(async function* () {
    yield delta(0);
    throw failure;
  });
  expect(await (await call(own)).text()).toContain("event: delta");
  expect(reported).toEqual([failure]);
});
