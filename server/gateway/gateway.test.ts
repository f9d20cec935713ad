import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Database } from "../../db/client.ts";
import { agentConfigHash } from "../agent/index.ts";
import { faultError } from "../errors.ts";
import type { ProviderInput } from "../models/index.ts";
import { causes } from "../protocol/causes.ts";
import { sidecarOrigin } from "../protocol/sidecar.ts";
import { problemOf } from "./answer-problem.ts";
import { callerCacheMilliseconds, createCallers } from "./create-callers.ts";
import { close, createTestGateway, listen, startProvider, type TestGateway } from "./test-gateway.ts";

const canary = "sk-canary-0123456789-abcdef";
type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

// The only fake is the provider itself; each test says how it behaves.
let test: TestGateway;
let provider: Awaited<ReturnType<typeof startProvider>>;
let handle: Handler = (_request, response) => response.end("{}");

beforeAll(async () => {
  test = await createTestGateway();
  provider = await startProvider((request, response) => void handle(request, response));
});
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const add = (change: Partial<ProviderInput> = {}) =>
  test.models.addProvider(test.admin, {
    kind: "openai-compatible",
    name: "Local",
    baseUrl: `${provider.url}/v1`,
    key: canary,
    ...change,
  });
const call = (path: string, init: RequestInit & { token?: string | null } = {}) => {
  const { token = test.token, ...rest } = init;
  return fetch(`${test.url}/api/llm/${path}`, {
    method: "POST",
    body: "{}",
    ...rest,
    headers: {
      "content-type": "application/json",
      ...(token && { authorization: `Bearer ${token}` }),
      ...rest.headers,
    },
  });
};
const messageOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string } }).error.message;

describe("a caller", () => {
  it("is refused without a token, with a wrong, an expired or a user's one", async () => {
    const { id } = await add();
    const expired = await test.addToken(test.person, { expiresAt: new Date(Date.now() - 1000) });
    const users = await test.addToken(test.person, { type: "user" });
    for (const [token, cause] of [
      [null, "access-ended"],
      ["dms_unknown", "access-ended"],
      [users, "access-ended"],
      [expired, "access-expired"],
    ] as const) {
      const response = await call(`${id}/chat/completions`, { token });
      expect(response.status).toBe(401);
      expect(await messageOf(response)).toBe(causes[cause].message);
    }
  });

  it("is told when its person was disabled, and not that its sandbox should be restarted", async () => {
    const token = await test.addToken(test.person);
    await test.owner`update users set disabled_at = now() where id = ${test.person.userId}`;
    const response = await call("demo/models", { method: "GET", body: null, token });
    await test.owner`update users set disabled_at = null where id = ${test.person.userId}`;
    expect(response.status).toBe(401);
    expect(await messageOf(response)).toBe(causes["access-disabled"].message);
  });

  it("hears of a database that is away as of that", async () => {
    const token = await test.addToken(test.person);
    const failing = { call: () => Promise.reject(faultError("database-away")) } as unknown as Database;
    const callers = createCallers({ database: failing });
    await expect(callers.find({ authorization: `Bearer ${token}` })).rejects.toMatchObject({ fault: "database-away" });
    const { status, message } = problemOf(faultError("database-away"));
    expect([status, message]).toEqual([503, causes["database-away"].message]);
  });

  it("is refused soon after its token was revoked", async () => {
    const token = await test.addToken(test.person);
    expect((await call("demo/models", { method: "GET", body: null, token })).status).toBe(200);
    await test.revoke(token);
    await vi.waitFor(
      async () => expect((await call("demo/models", { method: "GET", body: null, token })).status).toBe(401),
      { timeout: callerCacheMilliseconds + 5_000, interval: 250 },
    );
  });

  it("does not find the provider of another tenant", async () => {
    const { id } = await add();
    const [tenant] = await test.owner`insert into tenants (name) values ('Other') returning id`;
    const [user] = await test.owner`insert into users (tenant_id, email, name, role, password_hash)
      values (${tenant?.id}, 'eve@example.org', 'Eve', 'admin', 'x') returning id`;
    const token = await test.addToken({ tenantId: tenant?.id, userId: user?.id });
    let asked = false;
    handle = (_request, response) => {
      asked = true;
      response.end("{}");
    };
    expect((await call(`${id}/chat/completions`, { token })).status).toBe(404);
    expect(asked).toBe(false);
    expect((await call(`${id}/chat/completions`)).status).toBe(200);
    expect(asked).toBe(true);
  });
});

describe("a call", () => {
  it("carries the key and nothing that identifies the sandbox, and comes back without either", async () => {
    const { id } = await add();
    let seen: IncomingMessage | undefined;
    handle = (request, response) => {
      seen = request;
      response.writeHead(200, {
        "content-type": "application/json",
        "set-cookie": "a=b",
        "openai-organization": "org-1",
        "x-request-id": "req-1",
        "x-echo": request.headers.authorization,
        "x-ratelimit-echo": canary,
      });
      // An endpoint that repeats what it was sent, with the key broken over two writes.
      response.write(`{"echo":"Bearer ${canary.slice(0, 9)}`);
      response.end(`${canary.slice(9)}","again":"${canary}"}`);
    };
    const response = await call(`${id}/chat/completions`, {
      headers: { "x-session-id": "ses_1", cookie: "c=d", "x-forwarded-for": "1.2.3.4" },
    });
    const text = await response.text();
    expect(seen?.url).toBe("/v1/chat/completions");
    expect(seen?.headers.authorization).toBe(`Bearer ${canary}`);
    expect(JSON.stringify(seen?.headers)).not.toMatch(/ses_1|c=d|1\.2\.3\.4|dms_/);
    expect(text).toContain('"again"');
    expect(text + JSON.stringify([...response.headers])).not.toContain(canary);
    expect(response.headers.get("x-request-id")).toBe("req-1");
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(response.headers.get("openai-organization")).toBeNull();
  });

  it("reaches Anthropic with its own header, and unlisted paths reach nobody", async () => {
    const { id } = await add({ kind: "anthropic" });
    const seen: string[] = [];
    handle = (request, response) => {
      seen.push(`${request.url} ${request.headers["x-api-key"]} ${request.headers.authorization}`);
      response.end("{}");
    };
    expect((await call(`${id}/messages`)).status).toBe(200);
    for (const path of [
      "files",
      "messages/../files",
      "messages%2f..%2ffiles",
      "organizations/users",
      "chat/completions",
    ]) {
      const refused = await call(`${id}/${path}`);
      expect(refused.status).toBe(404);
      expect(await messageOf(refused)).toContain("does not forward");
    }
    expect((await call(`${id}/messages`, { method: "DELETE" })).status).toBe(404);
    expect(seen).toEqual([`/v1/messages ${canary} undefined`]);
  });

  it("passes the provider's own refusal on", async () => {
    const { id } = await add();
    handle = (_request, response) =>
      response
        .writeHead(401, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message: "Incorrect API key provided" } }));
    const response = await call(`${id}/chat/completions`);
    expect(response.status).toBe(401);
    expect(await messageOf(response)).toBe("Incorrect API key provided");
  });

  it("says which provider is down and what to check, and does not follow a redirect", async () => {
    const down = await startProvider(() => {});
    await down[Symbol.asyncDispose]();
    const { id } = await add({ name: "Attic GPU", baseUrl: `${down.url}/v1` });
    const refused = await call(`${id}/chat/completions`);
    expect(refused.status).toBe(502);
    expect(await messageOf(refused)).toMatch(/Attic GPU.*refused.*Settings → Models/);
    const unknown = await add({ name: "Nowhere", baseUrl: "http://provider.invalid/v1" });
    const unreachable = await messageOf(await call(`${unknown.id}/chat/completions`));
    expect(unreachable).toMatch(/Nowhere.*(was not found|cannot be reached)/);
    expect(unreachable).not.toMatch(/\bE[A-Z]{4,}|UND_ERR/);
    const moved = await add();
    const visited: (string | undefined)[] = [];
    handle = (request, response) => {
      visited.push(request.url);
      response.writeHead(307, { location: "/elsewhere" }).end();
    };
    const redirected = await call(`${moved.id}/chat/completions`);
    expect(redirected.status).toBe(502);
    expect(await messageOf(redirected)).toContain("redirect");
    expect(visited).toEqual(["/v1/chat/completions"]);
  });

  it("ends with 504 when the provider never begins", async () => {
    const short = await createTestGateway({ silenceMilliseconds: 300 });
    handle = () => {};
    const { id } = await short.models.addProvider(short.admin, {
      kind: "openai-compatible",
      name: "Sleeper",
      baseUrl: provider.url,
      key: canary,
    });
    const response = await fetch(`${short.url}/api/llm/${id}/chat/completions`, {
      method: "POST",
      body: "{}",
      headers: { authorization: `Bearer ${short.token}` },
    });
    expect(response.status).toBe(504);
    expect(await messageOf(response)).toContain("Sleeper");
    expect(short.log.join("")).toContain("UND_ERR_HEADERS_TIMEOUT");
    expect(short.log.join("")).not.toContain(canary);
    await short[Symbol.asyncDispose]();
  });

  it("leaves through the machine's proxy, except to the machine itself", async () => {
    const asked: (string | undefined)[] = [];
    const proxy = createServer((request, response) => {
      asked.push(request.url);
      response.end(JSON.stringify({ host: request.headers.host }));
    });
    // What is encrypted is tunnelled; the refusal is enough to see where it went.
    proxy.on("connect", (request, socket) => {
      asked.push(`CONNECT ${request.url}`);
      socket.on("error", () => {}).end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
    const proxyUrl = await listen(proxy);
    const own = await createTestGateway({ proxy: { http: proxyUrl, https: proxyUrl, except: "" } });
    handle = (request, response) => response.end(JSON.stringify({ host: request.headers.host }));
    const ask = async (baseUrl: string) => {
      const { id } = await own.models.addProvider(own.admin, { kind: "openai-compatible", name: "Far", baseUrl });
      return fetch(`${own.url}/api/llm/${id}/models`, {
        headers: { authorization: `Bearer ${own.token}` },
        signal: AbortSignal.timeout(15_000),
      });
    };
    for (const baseUrl of ["http://provider.invalid/v1", provider.url]) {
      expect(await (await ask(baseUrl)).json()).toEqual({ host: new URL(baseUrl).host });
    }
    expect((await ask("https://provider.invalid/v1")).status).toBe(502);
    expect(asked).toEqual(["http://provider.invalid/v1/models", "CONNECT provider.invalid:443"]);
    await own[Symbol.asyncDispose]();
    await close(proxy);
  });

  it("hands each chunk over before the next one is made", async () => {
    const { id } = await add();
    let next: (() => void) | undefined;
    handle = async (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let index = 0; index < 5; index++) {
        response.write(`data: ${index}\n\n`);
        // The provider goes on only when the chunk was seen at the other end.
        await new Promise<void>((resolve) => {
          next = resolve;
        });
      }
      response.end();
    };
    const response = await call(`${id}/chat/completions`);
    const seen: string[] = [];
    for await (const chunk of response.body ?? []) {
      seen.push(Buffer.from(chunk).toString());
      next?.();
    }
    expect(seen).toEqual([0, 1, 2, 3, 4].map((index) => `data: ${index}\n\n`));
  });

  it("is ended at the provider when the caller leaves", async () => {
    const { id } = await add();
    const closed = new Promise<boolean>((resolve) => {
      handle = (_request, response) => {
        response.on("close", () => resolve(response.writableFinished));
        response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      };
    });
    const leaving = new AbortController();
    const response = await call(`${id}/chat/completions`, { signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    expect(await closed).toBe(false);
  });

  it("breaks off when the provider does, so that the agent tries again", async () => {
    const { id } = await add();
    handle = (_request, response) => {
      response.writeHead(200).write("data: 1\n\n");
      setImmediate(() => response.destroy());
    };
    const response = await call(`${id}/chat/completions`);
    await expect(response.text()).rejects.toThrow();
  });

  it("streams a request of 20 MB and refuses one of more than 50", async () => {
    const { id } = await add();
    const megabyte = Buffer.alloc(1024 * 1024, 120);
    let started = false;
    let bytes = 0;
    handle = (request, response) => {
      started = true;
      request.on("error", () => {});
      request.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      request.on("end", () => response.end(JSON.stringify({ bytes })));
    };
    const upload = () => {
      const sending = httpRequest(`${test.url}/api/llm/${id}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${test.token}`, "content-type": "application/json" },
      });
      return { sending, answered: once(sending, "response") as Promise<[IncomingMessage]> };
    };
    const { sending, answered } = upload();
    sending.write(megabyte);
    // The provider hears of it while most of it was not sent yet.
    await vi.waitFor(() => expect(started).toBe(true), { timeout: 5_000 });
    for (let sent = 1; sent < 20; sent++) if (!sending.write(megabyte)) await once(sending, "drain");
    sending.end();
    const [response] = await answered;
    expect(JSON.parse(Buffer.concat(await response.toArray()).toString())).toEqual({ bytes: 20 * megabyte.length });

    // Without a length only counting helps: the provider never sees the end of it.
    bytes = 0;
    const { sending: endless, answered: refused } = upload();
    const stopped = refused.then(([{ statusCode }]) => statusCode);
    let sent = 0;
    for (; sent < 80 && !endless.destroyed; sent++) {
      const free = endless.write(megabyte);
      const status = await Promise.race([stopped, free ? undefined : once(endless, "drain").then(() => undefined)]);
      if (status) break;
    }
    expect(await stopped).toBe(413);
    endless.on("error", () => {}).destroy();
    expect(sent).toBeLessThan(80);
    expect(bytes).toBeLessThanOrEqual(50 * megabyte.length);
  });
});

describe("the agent's configuration", () => {
  it("names the demo model until a default is chosen, never holds a key and changes its hash with the models", async () => {
    const own = await createTestGateway();
    const person = { tenantId: own.person.tenantId, userId: own.person.userId };
    const before = await own.gateway.agentConfig(person);
    expect(before).toMatchObject({ model: "demo/demo", small_model: "demo/demo", enabled_providers: ["demo"] });
    const { id } = await own.models.addProvider(own.admin, { kind: "anthropic", name: "Claude", key: canary });
    await own.models.chooseModels(own.admin, id, [
      { id: "claude-x", name: "Claude X", enabled: true },
      { id: "claude-y", name: "Claude Y", enabled: false },
    ]);
    await own.models.chooseDefault(own.admin, { providerId: id, modelId: "claude-x" });
    const after = await own.gateway.agentConfig(person);
    expect(after).toMatchObject({
      share: "disabled",
      autoupdate: false,
      permission: { "*": "allow" },
      model: `${id}/claude-x`,
      enabled_providers: [id, "demo"],
      provider: { [id]: { npm: "@ai-sdk/anthropic", options: { baseURL: `${sidecarOrigin}/llm/${id}` } } },
    });
    expect(JSON.stringify(after)).not.toMatch(/canary|claude-y/);
    expect(agentConfigHash(after)).not.toBe(agentConfigHash(before));
    expect(agentConfigHash(await own.gateway.agentConfig(person))).toBe(agentConfigHash(after));
    await own[Symbol.asyncDispose]();
  });
});

it("logs no key in all of this", () => {
  expect(test.log.length).toBeGreaterThan(0);
  expect(test.log.join("")).not.toContain(canary);
});
