import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../config.ts";
import { maxBodyBytes } from "../../protocol/body-limits.ts";
import { createHttpServer, type HttpServer } from "../http-server.ts";
import { listen } from "../listen.ts";
import type { EntranceOptions } from "./create-entrance.ts";

const quiet = { error: () => {}, debug: () => {} };
let http: HttpServer | undefined;
let port = 0;
/** What was let in, with its body. */
let served: { path: string; body: string; forwardedHost: unknown }[] = [];
const open = new Set<Socket>();

afterEach(async () => {
  for (const socket of open) socket.destroy();
  open.clear();
  await http?.close({ graceMilliseconds: 0 });
});

async function start(environment: Record<string, string> = {}, options: Partial<EntranceOptions> = {}): Promise<void> {
  served = [];
  http = createHttpServer({ config: parseConfig(environment), logger: quiet, lingerMilliseconds: 100, ...options });
  http.serve(async (request, response) => {
    const body = await text(request);
    served.push({ path: request.url ?? "", body, forwardedHost: request.headers["x-forwarded-host"] });
    response.end("served");
  });
  ({ port } = await listen({ server: http.server, host: "127.0.0.1", port: { kind: "fixed", port: 0 } }));
}

function dial(): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  open.add(socket);
  return socket;
}

/** One request on a connection of its own; resolves once the server has closed it or the answer is complete. */
async function send(head: string, body = ""): Promise<{ status: number; body: string }> {
  const socket = dial();
  socket.write(`${head.replaceAll("\n", "\r\n")}\r\nConnection: close\r\n\r\n${body}`);
  return parse(await text(socket));
}

function parse(answer: string): { status: number; body: string } {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), body };
}

const ask = (headers: string, { method = "GET", path = "/" } = {}) => send(`${method} ${path} HTTP/1.1\n${headers}`);
const here = () => `Host: 127.0.0.1:${port}`;
const statusOf = async (answer: Promise<{ status: number }>) => (await answer).status;

describe("a host", () => {
  it("is answered when it is an address, localhost or a configured name, and refused otherwise", async () => {
    await start({
      DORMOUSE_ALLOWED_HOSTS: "mouse.internal, .example.org",
      DORMOUSE_PUBLIC_URL: "https://Public.example",
    });
    for (const host of ["127.0.0.1:1", "localhost", "[::1]", "MOUSE.internal:80", "a.example.org.", "public.example"]) {
      expect(await statusOf(ask(`Host: ${host}`)), host).toBe(200);
    }
    for (const host of ["attacker.example", "attacker.example:3000", "127.0.0.1.attacker.example", "example.org"]) {
      const { status, body } = await ask(`Host: ${host}`);
      expect([status, JSON.parse(body).error.kind], host).toEqual([403, "forbidden"]);
      expect(body).toContain("DORMOUSE_ALLOWED_HOSTS");
    }
    expect(served).toHaveLength(6);
  });

  it("is needed, once and in a form that an address can have", async () => {
    await start();
    for (const headers of ["A: b", "Host: ", "Host: localhost\nHost: localhost", "Host: a@localhost"]) {
      expect(await statusOf(ask(headers)), headers).toBe(400);
    }
    expect(await statusOf(send("GET / HTTP/1.0\nA: b"))).toBe(400);
  });

  it("is no matter to probes", async () => {
    await start();
    expect(await statusOf(ask("Host: 10-0-0-9.pods.cluster", { path: "/api/health/ready" }))).toBe(200);
    for (const path of ["/api/health/../v1/sessions", "/api/health/%2e%2e/v1/sessions", "/api/healthy"]) {
      expect(await statusOf(ask("Host: 10-0-0-9.pods.cluster", { path }))).toBe(403);
    }
  });

  it("says what is wrong as a page to people", async () => {
    await start();
    const { body } = await ask("Host: attacker.example\nAccept: text/html");
    expect(body).toMatch(/^This server does not answer as attacker\.example\./);
  });
});

describe("an origin", () => {
  it("that is foreign is refused for every write, wherever it goes, with and without a cookie", async () => {
    await start();
    const paths = ["/", "/api/v1/first-run", "/api/auth/callback/credentials", "/settings/models"];
    for (const path of paths) {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        for (const origin of [
          "https://attacker.example",
          "null",
          `http://127.0.0.1:${port + 1}`,
          `http://localhost:${port}`,
        ]) {
          for (const cookie of ["", "\nCookie: a=b"]) {
            expect(await statusOf(ask(`${here()}\nOrigin: ${origin}${cookie}`, { method, path }))).toBe(403);
          }
        }
      }
    }
    expect(served).toEqual([]);
    for (const path of paths.slice(1, 3)) {
      expect(await statusOf(ask(`${here()}\nOrigin: http://127.0.0.1:${port}`, { method: "POST", path }))).toBe(200);
      expect(await statusOf(ask(here(), { method: "POST", path }))).toBe(200);
    }
  });

  it("is that of the public address behind a proxy, and Next hears of the same host", async () => {
    await start({ DORMOUSE_PUBLIC_URL: "https://dormouse.example" });
    const headers = `${here()}\nOrigin: https://dormouse.example\nX-Forwarded-Host: attacker.example`;
    expect(await statusOf(ask(headers, { method: "POST", path: "/api/v1/sessions" }))).toBe(200);
    expect(served.at(-1)?.forwardedHost).toBe("dormouse.example");
    await ask(`${here()}\nX-Forwarded-Host: attacker.example`);
    expect(served.at(-1)?.forwardedHost).toBe(`127.0.0.1:${port}`);
  });

  it("believes a trusted proxy alone about the scheme", async () => {
    const post = (environment: Record<string, string>, proto: string) =>
      start({ DORMOUSE_ALLOWED_HOSTS: "mouse.internal", ...environment }).then(() =>
        statusOf(
          ask(`Host: mouse.internal\nOrigin: http://mouse.internal\nX-Forwarded-Proto: ${proto}`, {
            method: "POST",
            path: "/api/v1/sessions",
          }),
        ),
      );
    expect(await post({ DORMOUSE_TRUSTED_PROXIES: "127.0.0.1" }, "https")).toBe(403);
    await http?.close({ graceMilliseconds: 0 });
    expect(await post({ DORMOUSE_TRUSTED_PROXIES: "127.0.0.1" }, "http")).toBe(200);
    await http?.close({ graceMilliseconds: 0 });
    expect(await post({}, "https")).toBe(200);
  });

  it("may be anything to a page that is led to, and nothing foreign to a call, a script or a picture", async () => {
    await start();
    const fetched = (site: string, mode: string, path: string) =>
      statusOf(ask(`${here()}\nSec-Fetch-Site: ${site}\nSec-Fetch-Mode: ${mode}`, { path }));
    for (const site of ["cross-site", "same-site"]) {
      expect(await fetched(site, "navigate", "/invite/x")).toBe(200);
      expect(await fetched(site, "no-cors", "/icon.svg")).toBe(403);
      expect(await fetched(site, "navigate", "/api/v1/sessions")).toBe(403);
      expect(await fetched(site, "cors", "/api/v1/sessions")).toBe(403);
    }
    for (const site of ["same-origin", "none"]) expect(await fetched(site, "cors", "/api/v1/sessions")).toBe(200);
    expect(await statusOf(ask(`${here()}\nOrigin: null`, { path: "/api/v1/sessions" }))).toBe(403);
  });

  it("is looked at for upgrades as well, and so is the host", async () => {
    await start();
    http?.addUpgradeHandler((_, socket) => !!socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
    const upgrade = (headers: string) =>
      statusOf(send(`GET / HTTP/1.1\n${headers}\nUpgrade: websocket\nConnection: Upgrade`));
    expect(await upgrade(here())).toBe(101);
    expect(await upgrade(`${here()}\nOrigin: http://127.0.0.1:${port}`)).toBe(101);
    expect(await upgrade(`${here()}\nOrigin: https://attacker.example`)).toBe(403);
    expect(await upgrade(`${here()}\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: websocket`)).toBe(403);
    expect(await upgrade("Host: attacker.example")).toBe(403);
  });
});

describe("an address", () => {
  it("that cannot be read is refused in the one shape", async () => {
    await start();
    for (const path of ["/%", "/%ff", "/a%00b", "//x", "http://localhost/", "*", "/?a=%00", "/%ed%a0%80"]) {
      const { status, body } = await ask(here(), { path });
      expect([status, JSON.parse(body).error.kind], path).toEqual([400, "invalid-input"]);
    }
    expect(await statusOf(ask(here(), { path: "/a%20b?path=%ff" }))).toBe(200);
  });

  it("comes in a request that can be read, or is refused in the same shape", async () => {
    await start();
    for (const wrong of ["A: \0", "A b: c", "Content-Length: x", "Content-Length: 1\nTransfer-Encoding: chunked"]) {
      const { status, body } = await ask(`${here()}\n${wrong}`);
      expect([status, JSON.parse(body).error.kind], wrong).toEqual([400, "invalid-input"]);
    }
    const { status, body } = await ask(`${here()}\nA: ${"x".repeat(20_000)}`);
    expect([status, JSON.parse(body).error.kind]).toEqual([431, "too-large"]);
  });
});

describe("a body", () => {
  const post = (path: string, more: string) => `POST ${path} HTTP/1.1\nHost: localhost\n${more}`;
  const limit = 64 * 1024;

  it("that is as large as it may be is served whole, told or counted", async () => {
    await start();
    const body = "x".repeat(limit);
    expect(await statusOf(send(post("/api/v1/x", `Content-Length: ${limit}`), body))).toBe(200);
    const chunked = post("/api/v1/x", "Transfer-Encoding: chunked");
    expect(await statusOf(send(chunked, `${limit.toString(16)}\r\n${body}\r\n0\r\n\r\n`))).toBe(200);
    expect(served.map((one) => one.body.length)).toEqual([limit, limit]);
  });

  it("that is larger is refused before anybody is asked, and the connection closed", async () => {
    await start();
    const told = await send(post("/api/auth/callback/credentials", `Content-Length: ${limit + 1}`));
    expect([told.status, JSON.parse(told.body).error.kind]).toEqual([413, "too-large"]);
    const chunked = post("/api/auth/callback/credentials", "Transfer-Encoding: chunked");
    const counted = await send(chunked, `${(limit + 1).toString(16)}\r\n${"x".repeat(limit + 1)}\r\n`);
    expect([counted.status, JSON.parse(counted.body).error.kind]).toEqual([413, "too-large"]);
    expect(served).toEqual([]);
  });

  it("without end is dropped as it comes, and its sender cut off", async () => {
    await start();
    const socket = dial();
    let answer = "";
    socket.on("data", (chunk) => (answer += chunk));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(`${post("/api/auth/signin", "Transfer-Encoding: chunked").replaceAll("\n", "\r\n")}\r\n\r\n`);
    const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
    const goOn = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on("drain", goOn);
    goOn();
    await closed;
    expect(parse(answer).status).toBe(413);
    expect(served).toEqual([]);
  });

  it("may be as large as its route says", async () => {
    await start();
    const id = "0519c465-21be-4e11-82f6-f62e0d136277";
    const path = `/api/v1/sessions/${id}/turns`;
    expect(maxBodyBytes(path)).toBe(1024 * 1024);
    expect(maxBodyBytes(`${path}/${id}`)).toBe(1024 * 1024);
    expect(maxBodyBytes(`${path}/${id}/send-now`)).toBe(limit);
    const body = "x".repeat(900_000);
    expect(await statusOf(send(post(path, `Content-Length: ${body.length}`), body))).toBe(200);
    expect(served.at(-1)?.body).toBe(body);
    expect(await statusOf(send(post(path, "Content-Length: 1048577")))).toBe(413);
  });

  it("is asked for only when it would be taken", async () => {
    await start();
    const expecting = "Expect: 100-continue\nContent-Length: ";
    expect(await statusOf(send(post("/api/v1/x", `${expecting}70000`)))).toBe(413);
    const socket = dial();
    socket.write(`${post("/api/v1/x", `${expecting}2`).replaceAll("\n", "\r\n")}\r\nConnection: close\r\n\r\n`);
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 100/);
    socket.write("hi");
    expect(parse(await text(socket)).status).toBe(200);
    expect(served.at(-1)?.body).toBe("hi");
  });

  it("that stops coming is given up", async () => {
    await start({}, { bodyIdleMilliseconds: 300 });
    const stuck = await send(post("/api/v1/x", "Content-Length: 10"), "half");
    expect([stuck.status, JSON.parse(stuck.body).error.kind]).toEqual([408, "invalid-input"]);
    expect(served).toEqual([]);
  });

  it("of somebody who leaves in the middle is nobody's", async () => {
    await start();
    const socket = dial();
    const asked = once(http?.server ?? socket, "request");
    socket.write(`${post("/api/v1/x", "Content-Length: 10").replaceAll("\n", "\r\n")}\r\n\r\nhalf`);
    const [, response] = (await asked) as [unknown, Socket];
    const gone = once(response, "close");
    socket.destroy();
    await gone;
    expect(await statusOf(ask(here()))).toBe(200);
    expect(served).toHaveLength(1);
  });

  it("of a page's action is a list of plain values", async () => {
    await start();
    const action = (body: string, more = `Next-Action: ${"0".repeat(42)}\nContent-Type: text/plain;charset=UTF-8`) =>
      statusOf(send(post("/settings", `${more}\nContent-Length: ${Buffer.byteLength(body)}`), body));
    for (const body of ["[]", '["$$5"]', '[{"a":"$undefined","b":[1,null]}]'])
      expect(await action(body), body).toBe(200);
    const deep = "[".repeat(10_000) + "]".repeat(10_000);
    for (const body of ["", "{}", "[", '["$F1"]', '["$@1"]', '["$"]', deep]) expect(await action(body), body).toBe(400);
    expect(await action("[]", "Next-Action: x")).toBe(400);
    expect(await action("a=b", "Content-Type: application/x-www-form-urlencoded")).toBe(400);
  });
});

describe("connections", () => {
  const limits = { DORMOUSE_MAX_CONNECTIONS: "12", DORMOUSE_MAX_CONNECTIONS_PER_ADDRESS: "10" };
  const hold = async (count: number) => {
    const held = Array.from({ length: count }, dial);
    await Promise.all(held.map((socket) => once(socket, "connect")));
    // The server has seen them all once it answers on the last.
    const last = held.at(-1);
    last?.write(`GET / HTTP/1.1\r\n${here()}\r\n\r\n`);
    if (last) await once(last, "data");
    return held;
  };

  it("of one address are bounded: those that are open go on, and probes are answered", async () => {
    await start(limits);
    const [first] = await hold(10);
    const { status, body } = await ask(here());
    expect([status, JSON.parse(body).error.kind]).toEqual([429, "limit-exceeded"]);
    expect(await statusOf(ask(here(), { path: "/api/health/live" }))).toBe(200);
    first?.write(`GET / HTTP/1.1\r\n${here()}\r\n\r\n`);
    expect(String((await once(first as Socket, "data"))[0])).toContain("200 OK");
    first?.destroy();
    await expect.poll(() => statusOf(ask(here()))).toBe(200);
  });

  it("are bounded in all", async () => {
    await start({ ...limits, DORMOUSE_MAX_CONNECTIONS_PER_ADDRESS: "100" });
    await hold(12);
    const { status, body } = await ask(here());
    expect([status, JSON.parse(body).error.kind]).toEqual([503, "unavailable"]);
    expect(await statusOf(ask(here(), { path: "/api/health/live" }))).toBe(200);
  });

  it("of a trusted proxy are not its own: each client's requests are counted", async () => {
    await start({ ...limits, DORMOUSE_MAX_CONNECTIONS: "1000", DORMOUSE_TRUSTED_PROXIES: "127.0.0.1" });
    http?.serve((request, response) => {
      if (request.url === "/stream") response.write("begun");
      else response.end("served");
    });
    const from = (client: string, path = "/") =>
      `GET ${path} HTTP/1.1\r\n${here()}\r\nX-Forwarded-For: ${client}\r\n\r\n`;
    for (let index = 0; index < 10; index += 1) {
      const socket = dial();
      socket.write(from(`2001:db8::${index}`, "/stream"));
      await once(socket, "data");
    }
    const asked = (client: string) => statusOf(ask(`${here()}\nX-Forwarded-For: ${client}`));
    expect(await asked("2001:db8:0:0:ffff::1")).toBe(429);
    expect(await asked("2001:db8:0:1::1")).toBe(200);
    expect(await asked("198.51.100.7")).toBe(200);
  });
});
