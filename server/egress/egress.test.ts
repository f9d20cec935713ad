import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
} from "node:http";
import { type AddressInfo, connect, createServer, type Server as NetServer, type Socket } from "node:net";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { checkTarget } from "./check-target.ts";
import { createEgress, type EgressOptions } from "./create-egress.ts";
import type { Egress } from "./index.ts";
import { createNameLookup } from "./name-lookup.ts";
import { startNameServer } from "./test-name-server.ts";

// Tunnels run over real sockets; what is private here is reached by the exceptions, as a mirror would be.
const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

const portOf = (server: Server | NetServer) => (server.address() as AddressInfo).port;

async function listen<Kind extends Server | NetServer>(server: Kind): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return portOf(server);
}

const caller = { sandboxId: "s", tenantId: "t", userId: "u" };
const findCaller = async (headers: IncomingHttpHeaders) =>
  headers["proxy-authorization"] === "Bearer good" ? caller : null;

async function startEgress(change: Partial<EgressOptions> = {}): Promise<{ port: number; egress: Egress }> {
  const egress = createEgress({
    rules: { kind: "open", allow: [] },
    proxy: { https: null, except: "" },
    findCaller,
    permits: () => true,
    logger: pino({ level: "silent" }),
    ...change,
  });
  const server = createHttpServer();
  server.on("connect", (incoming, socket, head) => egress.connect(incoming, socket, head));
  const port = await listen(server);
  open.push(() => egress.close());
  return { port, egress };
}

async function tunnel(port: number, target: string, token = "good") {
  const asking = request({
    port,
    host: "127.0.0.1",
    method: "CONNECT",
    path: target,
    agent: false,
    headers: { "proxy-authorization": `Bearer ${token}` },
  });
  asking.end();
  const [response, socket, head] = (await once(asking, "connect")) as [IncomingMessage, Socket, Buffer];
  socket.on("error", () => {});
  if (head.length > 0) socket.unshift(head);
  const status = response.statusCode ?? 0;
  const reason = status === 200 ? "" : Buffer.concat(await socket.toArray()).toString();
  return { status, socket, reason };
}

const echo = () => createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
const allow = (port: number, host = "127.0.0.1") => ({ kind: "open" as const, allow: [{ host, port }] });

describe("a tunnel", () => {
  it("carries bytes both ways to a permitted target, and its end", async () => {
    const target = await listen(echo());
    const { port } = await startEgress({ rules: allow(target) });
    const { status, socket } = await tunnel(port, `127.0.0.1:${target}`);
    expect(status).toBe(200);
    const sent = Buffer.alloc(3_000_000, "dormouse ");
    socket.end(sent);
    expect(Buffer.concat(await socket.toArray()).equals(sent)).toBe(true);
  });

  it("reaches a name that is excepted, at the address that was checked", async () => {
    const target = await listen(echo());
    const { port } = await startEgress({ rules: allow(target, "localhost") });
    const { status, socket } = await tunnel(port, `localhost:${target}`);
    expect(status).toBe(200);
    socket.destroy();
  });

  it("is refused without a valid token", async () => {
    const target = await listen(echo());
    const { port } = await startEgress({ rules: allow(target) });
    expect(await tunnel(port, `127.0.0.1:${target}`, "bad")).toMatchObject({ status: 407 });
  });

  it("is refused to the host, to private networks and to other ports, with the reason", async () => {
    const { port } = await startEgress();
    expect(await tunnel(port, "127.0.0.1:443")).toMatchObject({
      status: 403,
      reason: expect.stringContaining("loopback"),
    });
    expect(await tunnel(port, "localhost:80")).toMatchObject({ status: 403 });
    expect(await tunnel(port, "169.254.169.254:80")).toMatchObject({
      status: 403,
      reason: expect.stringContaining("link-local"),
    });
    expect(await tunnel(port, "[::ffff:127.0.0.1]:80")).toMatchObject({ status: 403 });
    expect(await tunnel(port, "8.8.8.8:25")).toMatchObject({ status: 403, reason: expect.stringMatching(/Port 25/i) });
    expect(await tunnel(port, "0x7f.1:80")).toMatchObject({ status: 403 });
  });

  it("is refused to everything but the exceptions when egress is off", async () => {
    const target = await listen(echo());
    const { port } = await startEgress({ rules: { ...allow(target), kind: "off" } });
    expect(await tunnel(port, "8.8.8.8:443")).toMatchObject({
      status: 403,
      reason: expect.stringContaining("no internet access"),
    });
    const { status, socket } = await tunnel(port, `127.0.0.1:${target}`);
    expect(status).toBe(200);
    socket.destroy();
  });

  it("is refused by the tenant's own list", async () => {
    const target = await listen(echo());
    const asked: unknown[] = [];
    const permits: EgressOptions["permits"] = (who, where) => {
      asked.push(who.tenantId, where.host);
      return false;
    };
    const { port } = await startEgress({ rules: allow(target), permits });
    expect(await tunnel(port, `127.0.0.1:${target}`)).toMatchObject({
      status: 403,
      reason:
        "127.0.0.1 is not on your organisation's list of allowed hosts. An admin can add it in Settings → Network.\n",
    });
    expect(asked).toEqual(["t", "127.0.0.1"]);
  });

  it("goes to the address that was checked, whatever the name leads to by then", async () => {
    const target = await listen(echo());
    const answers = ["192.0.2.7", "127.0.0.1"];
    const server = await startNameServer((name, family) => {
      if (name === "inside.example") return { addresses: ["10.0.0.8", "fd00::8"], ttl: 0 };
      if (name === "mixed.example") return { addresses: ["127.0.0.1", "::1", "10.0.0.1"] };
      return { addresses: family === 4 ? [answers.shift() ?? "10.9.9.9"] : [], ttl: 0 };
    });
    const names = createNameLookup({ servers: [server.address] });
    open.push(server.close);
    const { port } = await startEgress({ rules: allow(target, "excepted.example"), names });
    const refused = { status: 403, reason: expect.stringContaining("which sandboxes may not reach") };
    expect(await tunnel(port, "inside.example:443")).toMatchObject(refused);
    expect(await tunnel(port, "mixed.example:443")).toMatchObject(refused);
    // The first answer is public: had it been asked again for connecting, the tunnel would lead to this machine.
    const asked: string[] = [];
    const rebound = await checkTarget({
      target: { host: "rebound.example", port: 443 },
      rules: { kind: "open", allow: [] },
      permits: () => true,
      find: (host) => {
        asked.push(host);
        return names.find(host, "s");
      },
      proxied: false,
    });
    expect(rebound).toEqual({ addresses: [{ address: "192.0.2.7", family: 4 }] });
    expect(asked).toEqual(["rebound.example"]);
    // This one leads elsewhere from its second answer on.
    const { status, socket } = await tunnel(port, `excepted.example:${target}`);
    expect(status).toBe(200);
    expect(server.asked.filter((question) => question === "excepted.example A")).toHaveLength(1);
    socket.destroy();
  });

  it("is given up when nobody answers for its name", async () => {
    const server = await startNameServer(() => null);
    open.push(server.close);
    const names = createNameLookup({ servers: [server.address], timeoutMilliseconds: 50 });
    const { port } = await startEgress({ names });
    expect(await tunnel(port, "silent.example:443")).toMatchObject({
      status: 504,
      reason: "silent.example could not be looked up within 5 s.\n",
    });
  });

  it("is not looked up where the organisation does not allow it", async () => {
    const server = await startNameServer(() => ({ addresses: ["192.0.2.1"] }));
    open.push(server.close);
    const names = createNameLookup({ servers: [server.address] });
    const { port } = await startEgress({ permits: () => false, names });
    expect(await tunnel(port, "secret-in-a-name.example:443")).toMatchObject({ status: 403 });
    expect(server.asked).toEqual([]);
  });

  it("says that a target is unknown or does not listen", async () => {
    const closed = createServer();
    const target = await listen(closed);
    await new Promise((resolve) => closed.close(resolve));
    const { port } = await startEgress({ rules: allow(target) });
    expect(await tunnel(port, `127.0.0.1:${target}`)).toMatchObject({ status: 502 });
    expect(await tunnel(port, "name.invalid:443")).toMatchObject({
      status: 502,
      reason: expect.stringContaining("was not found"),
    });
  });

  it("is one of a bounded number, which is free again when it ended", async () => {
    const target = await listen(echo());
    const { port } = await startEgress({ rules: allow(target), maxTunnels: 1 });
    const first = await tunnel(port, `127.0.0.1:${target}`);
    expect(await tunnel(port, `127.0.0.1:${target}`)).toMatchObject({ status: 429 });
    first.socket.end();
    await first.socket.toArray();
    await expect.poll(async () => (await tunnel(port, `127.0.0.1:${target}`)).status, { timeout: 5_000 }).toBe(200);
  });

  it("ends when nothing passes, when either side breaks off, and with the server", async () => {
    const arrived: Socket[] = [];
    const target = await listen(createServer((socket) => void arrived.push(socket)));
    const idle = await startEgress({ rules: allow(target), idleMilliseconds: 200 });
    const quiet = await tunnel(idle.port, `127.0.0.1:${target}`);
    await once(quiet.socket.resume(), "close");
    const { port, egress } = await startEgress({ rules: allow(target) });
    const leaving = await tunnel(port, `127.0.0.1:${target}`);
    const seen = once(arrived[1]?.resume() as Socket, "close");
    leaving.socket.resetAndDestroy();
    await seen;
    const last = await tunnel(port, `127.0.0.1:${target}`);
    const ended = once(last.socket.resume(), "close");
    await egress.close();
    await ended;
  });
});

describe("the machine's own proxy", () => {
  it("is asked for every target that it is meant for, by name, and its refusal is told", async () => {
    const target = await listen(echo());
    const asked: string[] = [];
    const upstream = createHttpServer();
    upstream.on("connect", (incoming: IncomingMessage, socket: Socket) => {
      asked.push(`${incoming.url} ${incoming.headers["proxy-authorization"]}`);
      if (incoming.url?.startsWith("refused")) return socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      const outside = connect(target, "127.0.0.1");
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      return outside.pipe(socket).pipe(outside);
    });
    const proxyPort = await listen(upstream);
    const { port } = await startEgress({
      proxy: { https: `http://me:p%40ss@127.0.0.1:${proxyPort}`, except: "direct.invalid" },
    });
    const { status, socket } = await tunnel(port, "mirror.invalid:443");
    expect(status).toBe(200);
    socket.end("through the proxy");
    expect(Buffer.concat(await socket.toArray()).toString()).toBe("through the proxy");
    expect(await tunnel(port, "refused.invalid:443")).toMatchObject({
      status: 502,
      reason: expect.stringContaining("403"),
    });
    expect(await tunnel(port, "direct.invalid:443")).toMatchObject({ status: 502 });
    expect(await tunnel(port, "localhost:443")).toMatchObject({ status: 403 });
    const credentials = `Basic ${Buffer.from("me:p@ss").toString("base64")}`;
    expect(asked).toEqual([`mirror.invalid:443 ${credentials}`, `refused.invalid:443 ${credentials}`]);
  });
});
