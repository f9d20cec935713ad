import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../config.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";
import { listen } from "./listen.ts";

const quiet = { error: () => {}, debug: () => {} };
let http: HttpServer;
let url: string;

beforeEach(async () => {
  http = createHttpServer({ config: parseConfig({}), logger: quiet });
  ({ url } = await listen({ server: http.server, host: "127.0.0.1", port: { kind: "fixed", port: 0 } }));
});
afterEach(() => http.close({ graceMilliseconds: 0 }));

describe("the HTTP server", () => {
  it("says that it is starting until there is something to serve", async () => {
    const early = await fetch(url);
    expect([early.status, early.headers.get("retry-after")]).toEqual([503, "2"]);
    http.serve((_, response) => void response.end("served"));
    expect(await (await fetch(url)).text()).toBe("served");
  });

  it("answers a handler's failure with 500 and goes on", async () => {
    http.serve(async (request, response) => {
      if (request.url === "/broken") throw new Error("secret detail");
      response.end("fine");
    });
    const broken = await fetch(`${url}/broken`);
    expect(broken.status).toBe(500);
    expect(await broken.text()).not.toContain("secret");
    expect(await (await fetch(url)).text()).toBe("fine");
  });

  it("refuses an upgrade that nobody wants", async () => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write("GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    const [answer] = await once(socket, "data");
    expect(String(answer)).toContain("404 Not Found");
    await once(socket, "close");
  });
});

describe("closing the HTTP server", () => {
  it("lets a running answer finish, and takes no new one", async () => {
    const { promise: mayFinish, resolve: finish } = Promise.withResolvers<void>();
    http.serve(async (_, response) => {
      response.write("begun ");
      await mayFinish;
      response.end("and finished");
    });
    const answer = await fetch(url);
    const closed = http.close({ graceMilliseconds: 10_000 });
    await expect(fetch(url)).rejects.toThrow();
    finish();
    expect(await answer.text()).toBe("begun and finished");
    await closed;
  });

  it("does not wait for idle connections", async () => {
    http.serve((_, response) => void response.end("done"));
    await (await fetch(url)).text();
    await http.close({ graceMilliseconds: 60_000 });
    expect(http.server.listening).toBe(false);
  });

  it("cuts what outlasts its grace: streams and upgraded connections", async () => {
    http.serve((_, response) => void response.write("stream"));
    http.addUpgradeHandler((_, socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n") || true);
    const stream = await fetch(url);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await once(socket, "data");
    const cut = once(socket, "close");
    await http.close({ graceMilliseconds: 50 });
    await expect(stream.text()).rejects.toThrow();
    await cut;
  });
});
