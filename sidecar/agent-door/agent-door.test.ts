import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestSandbox, type TestSandbox, waitUntil } from "../test-sidecar.ts";

describe("the agent's way to the server", () => {
  let sandbox: TestSandbox;
  beforeAll(async () => {
    sandbox = await createTestSandbox();
    await sandbox.boot();
  });
  afterAll(() => sandbox?.remove());

  const token = () => `Bearer ${sandbox.launch.sandboxToken}`;
  async function ask(path: string, options: { method?: string; headers?: Record<string, string>; body?: string } = {}) {
    const { method = "GET", headers = {}, body } = options;
    const sent = request({ host: "127.0.0.1", port: sandbox.launch.agentPort, path, method, headers, agent: false });
    sent.end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    return { status: answer.statusCode, text: await text(answer) };
  }

  it("adds the sandbox's token in place of whatever the agent sends", async () => {
    const headers = {
      authorization: "Bearer somebody-else",
      cookie: "a=b",
      "x-dormouse-signature": "x",
      "x-kept": "1",
    };
    const answer = await ask("/api/echo?q=1", { method: "POST", headers, body: "hello" });
    expect({ status: answer.status, ...JSON.parse(answer.text) }).toEqual({
      status: 200,
      url: "/api/echo?q=1",
      body: "hello",
    });
    const got = sandbox.server.requests.at(-1)?.headers;
    expect(got?.authorization).toBe(token());
    expect(got).toMatchObject({ "x-kept": "1" });
    expect(got).not.toHaveProperty("cookie");
    expect(got).not.toHaveProperty("x-dormouse-signature");
  });

  it("passes on an answer that comes before the end of the request was noticed", async () => {
    const body = "x".repeat(3_000);
    const headers = { "content-length": String(body.length) };
    const statuses: (number | undefined)[] = [];
    for (let round = 0; round < 15; round++) {
      const calls = [1, 2, 3, 4].map(() => ask("/api/echo", { method: "POST", headers, body }));
      statuses.push(...(await Promise.all(calls)).map(({ status }) => status));
    }
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });

  it("leads to the server's model and API routes and nowhere else", async () => {
    await ask("/llm/test/v1/models");
    expect(sandbox.server.requests.at(-1)?.url).toBe("/api/llm/test/v1/models");
    const seen = sandbox.server.requests.length;
    const answers = ["/", "/sign-in", "/api", "/api/../sign-in", "/api/%2e%2e/sign-in", "/llm/./x"].map((path) =>
      ask(path),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 404, 404, 400, 400, 400]);
    expect(sandbox.server.requests).toHaveLength(seen);
  });

  it("streams answers as they come and passes on that nobody listens any more", async () => {
    const body = JSON.stringify({ messages: [{ role: "user", content: "@@hang" }] });
    const sent = request({
      host: "127.0.0.1",
      port: sandbox.launch.agentPort,
      path: "/llm/test/v1/chat/completions",
      method: "POST",
      agent: false,
    });
    sent.on("error", () => {});
    sent.end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const [first] = await once(answer, "data");
    expect(String(first)).toContain("begun");
    answer.on("error", () => {});
    sent.destroy();
    await waitUntil(() => sandbox.server.cut.includes("/api/llm/test/v1/chat/completions"), "the end at the server");
  });

  it("tunnels CONNECT through the server, with the token", async () => {
    const socket = connect(sandbox.launch.agentPort, "127.0.0.1");
    socket.write("CONNECT registry.example:443 HTTP/1.1\r\nhost: registry.example:443\r\n\r\nfirst bytes");
    let heard = "";
    socket.on("data", (chunk) => (heard += chunk));
    await waitUntil(() => heard.includes("first bytes"), "the echo");
    expect(heard).toMatch(/^HTTP\/1\.1 200 /);
    expect(sandbox.server.connects.at(-1)).toEqual({ target: "registry.example:443", authorization: token() });
    socket.destroy();
  });

  it("passes the egress's refusal on, with its reason", async () => {
    const socket = connect(sandbox.launch.agentPort, "127.0.0.1");
    socket.write("CONNECT refused.example:443 HTTP/1.1\r\nhost: refused.example:443\r\n\r\n");
    const heard = await text(socket);
    expect(heard).toMatch(/^HTTP\/1\.1 403 /);
    expect(heard).toContain("not allowed");
    const plain = await ask("http://refused.example/x");
    expect({ status: plain.status, ...JSON.parse(plain.text).error }).toMatchObject({ status: 403, kind: "forbidden" });
  });

  it("sends proxied http requests through a tunnel too, without the token reaching the other side", async () => {
    const { status, text } = await ask("http://example.test/path?q=1", { headers: { "proxy-authorization": "x" } });
    expect(status).toBe(200);
    expect(text).toMatch(/^GET \/path\?q=1 HTTP\/1\.1\r\n/);
    expect(text.toLowerCase()).toContain("host: example.test\r\n");
    expect(text).not.toContain(sandbox.launch.sandboxToken);
    expect(text.toLowerCase()).not.toContain("proxy-authorization");
    expect(sandbox.server.connects.at(-1)).toEqual({ target: "example.test:80", authorization: token() });
  });

  it("says so when the server is away, and works again when it is back", async () => {
    const { server } = sandbox.launch;
    await sandbox.server.close();
    const { status, text } = await ask("/api/echo");
    expect({ status, ...JSON.parse(text).error }).toMatchObject({ status: 503, kind: "unavailable" });
    const socket = connect(sandbox.launch.agentPort, "127.0.0.1");
    socket.write("CONNECT registry.example:443 HTTP/1.1\r\nhost: registry.example:443\r\n\r\n");
    expect(String(await once(socket, "data"))).toContain("503");
    if (server.kind === "socket") await sandbox.server.listen(server.path);
    expect((await ask("/api/echo")).status).toBe(200);
  });
});
