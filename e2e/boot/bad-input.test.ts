import { readFileSync } from "node:fs";
import { type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import {
  brokenBodies,
  brokenParts,
  brokenTexts,
  findPages,
  findQueryNames,
  findRoutes,
  oddParts,
  oddValues,
  spoil,
} from "./bad-input.ts";
import { becomeFirst, type FirstPerson, setupCode } from "./first-person.ts";
import { cleanUp, makeHome, type RunningDormouse, root, runDormouse } from "./run-dormouse.ts";

// Thousands of requests.
vi.setConfig({ testTimeout: 300_000 });

/**
 * The whole program, asked over HTTP for every route and page of the file tree by an admin whose programs are all
 * broken. Nobody has to think of a new route: it is asked too.
 */
let dormouse: RunningDormouse;
let url: string;
let person: FirstPerson;
let sessionId: string;
let providerId: string;

beforeAll(async () => {
  dormouse = runDormouse({ home: await makeHome(), environment: { DORMOUSE_SETUP_CODE: setupCode } });
  url = await dormouse.ready();
  person = await becomeFirst(url);
  sessionId = (await person.call<{ session: { id: string } }>("POST", "/api/v1/sessions")).session.id;
  const provider = { kind: "anthropic", name: "Nowhere", baseUrl: "http://127.0.0.1:9", key: "none" };
  providerId = (await person.call<{ provider: { id: string } }>("POST", "/api/v1/admin/providers", provider)).provider
    .id;
});
afterAll(cleanUp);

const unknown = "019a9b2e-0000-7000-8000-000000000000";
const allMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** What a call that is right looks like, to be spoiled: each route that reads JSON has its own. */
const examples: Record<string, object[]> = {
  "/api/v1/first-run": [
    { tenantName: "A", name: "B", email: "c@example.org", password: "long enough words", setupCode, hostConsent: true },
  ],
  "/api/v1/invites/[token]/accept": [{ name: "B", email: "c@example.org", password: "long enough words" }],
  "/api/v1/admin/default-model": [{ model: { providerId: unknown, modelId: "m" } }],
  "/api/v1/admin/invites": [{ role: "user", note: "for somebody" }],
  "/api/v1/admin/network": [{ rule: "listed", hosts: ["example.org", "*.example.com:443"] }],
  "/api/v1/admin/permissions": [{ policy: "ask" }],
  "/api/v1/admin/providers": [{ kind: "openai", name: "N", baseUrl: "http://127.0.0.1:9/v1", key: "k" }],
  "/api/v1/admin/providers/[providerId]": [{ name: "N", baseUrl: "http://127.0.0.1:9/v1", key: "k" }],
  "/api/v1/admin/providers/[providerId]/models": [
    { models: [{ id: "m", name: "M", enabled: true }] },
    {
      modelId: "m",
      details: {
        price: { input: 1, output: 1, cacheRead: null, cacheWrite: null },
        longPromptPrices: [{ aboveTokens: 1, price: { input: 1, output: 1, cacheRead: null, cacheWrite: null } }],
        maxContextTokens: 1000,
        maxInputTokens: null,
        maxOutputTokens: 10,
        images: false,
        pdfs: false,
        reasoning: false,
      },
    },
  ],
  "/api/v1/admin/sandboxes/idle-limit": [{ minutes: 60 }],
  "/api/v1/admin/sandboxes/[sandboxId]": [{ idleMinutes: 30, keepAwakeUntil: "2030-01-01T00:00:00Z" }],
  "/api/v1/admin/sandboxes/[sandboxId]/[verb]": [{ files: true }],
  "/api/v1/sandboxes/[sandboxId]": [{ idleMinutes: 30, keepAwakeUntil: "2030-01-01T00:00:00Z" }],
  "/api/v1/sandboxes/[sandboxId]/[verb]": [{ files: true }],
  "/api/v1/asks/[askId]/answer": [{ answers: [["yes"]] }, { reply: "once" }],
  "/api/v1/sessions/[sessionId]": [{ title: "T" }],
  "/api/v1/sessions/[sessionId]/files/move": [{ from: "a.txt", to: "b.txt" }],
  "/api/v1/sessions/[sessionId]/turns": [{ prompt: "Hello", idempotencyKey: "k" }],
  "/api/v1/sessions/[sessionId]/turns/[turnId]": [{ prompt: "Hello", before: unknown }],
};

it("no address that cannot be read fails anywhere: 400 or 404, for routes and for pages", async () => {
  const asked = [
    ...findRoutes().flatMap(({ path }) => allMethods.map((method) => ({ path, method }))),
    ...findPages().flatMap((path) => ["GET", "POST"].map((method) => ({ path, method }))),
  ].flatMap(({ path, method }) => [
    ...placesIn(path).flatMap((name) => brokenParts.map((part) => ({ method, path: fill(path, { [name]: part }) }))),
    ...brokenParts.map((part) => ({ method, path: `${fill(path)}/${part}` })),
    { method, path: `${fill(path)}?path=%00` },
  ]);
  await expectRefused(asked, [400, 404]);
});

it("no odd id fails", async () => {
  const asked = [
    ...findRoutes().flatMap(({ path, methods }) => methods.map((method) => ({ path, method }))),
    ...findPages().map((path) => ({ path, method: "GET" })),
  ].flatMap(({ path, method }) =>
    placesIn(path).flatMap((name) => oddParts.map((part) => ({ method, path: fill(path, { [name]: part }) }))),
  );
  await expectRefused(asked);
});

it("no odd query fails", async () => {
  const names = findQueryNames();
  const values = [...oddParts, "%ff", "%", "%ed%a0%80", "99999999999999999999", "a,b,,c", `${unknown}:1e9`];
  // What a route reads by itself, so that no other name is refused before it; the rest at once.
  const alone = (name: string) => values.map((value) => `?${name}=${value}&${name}[]=${value}`);
  const together = values.map((value) => `?${names.map((name) => `${name}=${value.slice(0, 500)}`).join("&")}`);
  const routes = findRoutes().filter(({ methods }) => methods.includes("GET"));
  const own = ["/_next/image", "/_next/data/x", "/_next/static/x", "/icon.svg", "/nothing"];
  const asked = [
    ...routes.flatMap(({ path, queryNames }) => queryNames.flatMap(alone).map((query) => fill(path) + query)),
    ...[...routes.map(({ path }) => path), ...findPages(), ...own].flatMap((path) =>
      together.map((query) => fill(path) + query),
    ),
  ];
  await expectRefused(asked.map((path) => ({ method: "GET", path })));
});

it("no odd header fails, and those that cannot be read are answered in the one shape", async () => {
  const long = "x".repeat(4_000);
  const values = ["\xff", "%", "", long, "{}"];
  const alone = (value: string): OutgoingHttpHeaders[] => [
    { "content-type": value },
    { cookie: value },
    { cookie: ["callback-url", "session-token", "csrf-token"].map((name) => `next-auth.${name}=${value}`).join("; ") },
  ];
  const ofNext = (value: string): OutgoingHttpHeaders[] => [
    { "next-action": value },
    { rsc: "1", "next-router-state-tree": value },
    { rsc: "1", "next-router-prefetch": value, "next-url": value },
    { rsc: value, "next-router-segment-prefetch": value },
  ];
  const ofAll = (value: string): OutgoingHttpHeaders => ({
    "idempotency-key": value,
    "last-event-id": value,
    range: `bytes=${value}`,
    ...{ accept: value, "accept-language": value, "user-agent": value, referer: value },
    ...{ forwarded: value, "x-forwarded-for": value, "x-forwarded-host": value },
  });
  // Routes hear of none of what is Next's: all of it at once.
  const forRoutes = values.flatMap((value) => [...alone(value), ofAll(value), Object.assign({}, ...ofNext(value))]);
  const forPages = values.flatMap((value) => [...alone(value), ofAll(value), ...ofNext(value)]);
  const asked = [
    ...findRoutes().flatMap(({ path, methods }) =>
      methods.flatMap((method) => forRoutes.map((headers) => ({ method, path: fill(path, {}, method), headers }))),
    ),
    ...findPages().flatMap((path) => forPages.map((headers) => ({ method: "GET", path: fill(path), headers }))),
  ];
  await expectRefused(asked);
  for (const raw of ["A: \0b", "A\0: b", "A b: c", `A: ${"x".repeat(40_000)}`, "Content-Length: x", "Host: again"]) {
    const [head, body] = (await sendRaw(`GET /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n${raw}\r\n\r\n`)).split(
      "\r\n\r\n",
    );
    expect(head).toMatch(/^HTTP\/1\.1 4/);
    expect(JSON.parse(body ?? ""), raw.slice(0, 20)).toHaveProperty("error.message");
  }
});

it("no body fails: broken JSON, wrong types, huge numbers, deep nesting", async () => {
  const routes = findRoutes();
  const withJson = routes.filter(({ readsJson }) => readsJson).map(({ path }) => path);
  expect(Object.keys(examples).sort(), "a route that reads JSON has an example here").toEqual(withJson.sort());
  const values = [...oddValues, ...brokenTexts.map((part) => JSON.stringify(part))];
  const asked = routes
    .flatMap(({ path, methods }) => methods.filter((one) => one !== "GET").map((method) => ({ path, method })))
    .flatMap(({ path, method }) => {
      const bodies = (examples[path] ?? []).flatMap((example) => spoil(example, values));
      return [...bodies, ...brokenBodies].map((body) => ({ method, path: fill(path, {}, method), body }));
    });
  await expectRefused(asked);
  const broken = asked.filter(
    ({ path, method, body }) =>
      method !== "DELETE" &&
      withJson.some((route) => fill(route, {}, method) === path) &&
      (typeof body !== "string" || /\\u0000|\\ud[89a-f]/.test(body)),
  );
  expect(broken.length).toBeGreaterThan(100);
  await expectRefused(broken, [400, 405]);
});

it("no sign-in fails: wrong forms, wrong words, wrong addresses", async () => {
  const actions = ["csrf", "session", "providers", "signin", "signin/credentials", "callback/credentials"];
  const paths = [...actions, "signout", "error", "_log", "nothing", "callback/nobody", "callback"].map(
    (action) => `/api/auth/${action}`,
  );
  const forms = ["", "csrfToken", "email=%00&password=%00", "email=%ff&password=%ed%a0%80", "a=%", "json=true&=&&"];
  const types = ["application/x-www-form-urlencoded", "application/json", "multipart/form-data", "text/plain"];
  const asked = paths.flatMap((path) => [
    ...[...forms, ...brokenBodies, "null", "[]", "1"].flatMap((body) =>
      types.map((type) => ({ method: "POST", path, body, headers: { "content-type": type } })),
    ),
    { method: "GET", path: `${path}?callbackUrl=http://[&error=%00` },
    { method: "GET", path: `${path}?callbackUrl=%ff` },
    { method: "GET", path: `${path}?callbackUrl=http://[` },
  ]);
  await expectRefused(asked);
});

it("no call of a page's action fails", async () => {
  const manifest = JSON.parse(readFileSync(join(root, ".next/server/server-reference-manifest.json"), "utf8"));
  const actions = Object.keys(manifest.node);
  expect(actions.length).toBeGreaterThan(10);
  const texts = brokenTexts.map((part) => JSON.stringify(part));
  const values = [...oddValues, ...texts];
  const example = { providerId: unknown, modelId: "m", name: "x", role: "user", note: "" };
  const bodies = [
    ...brokenBodies,
    "",
    "[]",
    '["$"]',
    '["$K1"]',
    '["$undefined"]',
    '["$@1"]',
    '["$F1"]',
    '["$1:a:b"]',
    '["$Q0"]',
    ...values.map((value) => `[${value}]`),
    ...values.map((value) => `[{${Object.keys(example).map((key) => `"${key}":${value}`)}}]`),
    ...spoil(example, texts).map((one) => `[${one}]`),
  ];
  const asked = actions.flatMap((action) =>
    bodies.map((body) => ({
      method: "POST",
      path: "/settings/profile",
      body,
      headers: { "next-action": action, "content-type": "text/plain;charset=UTF-8" },
    })),
  );
  const form = '--b\r\nContent-Disposition: form-data; name="0"\r\n\r\n["\0"]\r\n--b--';
  const multipart = [form, form.slice(0, 30), "", "--b--", "--b\r\n\r\n--b--"].flatMap((body) =>
    [actions[0] ?? "", "x", "0".repeat(42)].flatMap((action) =>
      ["multipart/form-data; boundary=b", "multipart/form-data", "application/x-www-form-urlencoded"].map((type) => ({
        method: "POST",
        path: "/settings/profile",
        body,
        headers: { "next-action": action, "content-type": type },
      })),
    ),
  );
  await expectRefused([...asked, ...multipart]);
});

it("nothing of all this surprised the server", () => {
  // The first is ours, the second Next's.
  expect(dormouse.output()).not.toMatch(/"level":50|⨯/);
});

interface Asked {
  method: string;
  path: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
}

/** Asks all, some at once, and says which were answered as they must not be. */
async function expectRefused(asked: readonly Asked[], statuses?: readonly number[]): Promise<void> {
  const wrong: string[] = [];
  const rest = [...asked];
  const askSome = async () => {
    for (let one = rest.pop(); one; one = rest.pop()) {
      const problem = await ask(one, statuses);
      if (problem) wrong.push(problem);
    }
  };
  await Promise.all(Array.from({ length: 8 }, askSome));
  expect(asked.length).toBeGreaterThan(0);
  expect(wrong.slice(0, 40), `${wrong.length} of ${asked.length}`).toEqual([]);
}

async function ask(asked: Asked, statuses?: readonly number[]): Promise<string | null> {
  const response = await send(asked);
  const { statusCode: status = 0 } = response;
  const name = `${asked.method} ${asked.path.slice(0, 120)} ${JSON.stringify(asked.headers ?? {}).slice(0, 100)} ${String(asked.body ?? "").slice(0, 80)}`;
  if (response.headers["content-type"]?.startsWith("text/event-stream")) {
    response.destroy();
    return null;
  }
  const body = await text(response);
  const said = `${status} for ${name}: ${body.slice(0, 200)}`;
  if (statuses && !statuses.includes(status)) return said;
  // Files of a sandbox that sleeps are not there, whatever was asked for.
  if (status >= 500 && !(status === 503 && body.includes("sandbox is awake"))) return said;
  const isOurs = asked.path.startsWith("/api/v1/") && asked.method !== "HEAD" && asked.method !== "OPTIONS";
  if (status < 400 || !isOurs || status === 405) return null;
  return /^\{"error":\{"kind":"[a-z-]+","message":".+"/.test(body) ? null : said;
}

function send({ method, path, headers, body }: Asked): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url);
  // The first of a name counts.
  const cookie = [headers?.cookie, person.headers.cookie].filter(Boolean).join("; ");
  const json =
    body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, headers: { ...json, ...headers, cookie } }, resolve);
    sent.on("error", (error) => reject(new Error(`${method} ${path.slice(0, 200)}: ${error.message}`)));
    sent.setTimeout(60_000, () => sent.destroy(new Error("no answer within 60 s")));
    sent.end(body);
  });
}

async function sendRaw(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.end(bytes, "latin1");
  return text(socket);
}

function placesIn(path: string): string[] {
  return [...path.matchAll(/\[(?:\.\.\.)?(\w+)\]/g)].map(([, name]) => name ?? "");
}

/** Changes reach nothing that is there, since some of them might be right. */
function fill(path: string, parts: Record<string, string> = {}, method = "GET"): string {
  const isThere = method === "GET" || method === "HEAD" || method === "PATCH";
  const known: Record<string, string> = {
    ...(isThere && { sessionId, providerId }),
    nextauth: "session",
    verb: "wake",
  };
  return path.replaceAll(/\[(?:\.\.\.)?(\w+)\]/g, (_, name: string) => parts[name] ?? known[name] ?? unknown);
}
