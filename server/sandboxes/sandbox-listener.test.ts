import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listen } from "../boot/listen.ts";
import { createSandboxListener } from "./sandbox-listener.ts";
import type { RequestServer } from "./sandbox-requests.ts";

const token = "Bearer good";
let listener: RequestServer;
let port: number;
let served: string[];
let answersTokens: () => void;

beforeEach(async () => {
  served = [];
  answersTokens = () => {};
  listener = createSandboxListener({
    requests: {
      serve(request, response) {
        served.push(request.url ?? "");
        void text(request).then((body) => response.end(`got ${body}`));
      },
      connect: (_request, socket) => socket.end("HTTP/1.1 407 No\r\n\r\n"),
    },
    async isSandbox({ authorization }) {
      answersTokens();
      return authorization === token;
    },
    onError: () => {},
    lingerMilliseconds: 50,
  });
  ({ port } = await listen({ server: listener.server, host: "127.0.0.1", port: { kind: "fixed", port: 0 } }));
});
afterEach(() => listener.close());

/** Sends the head of a request, and its body only when it is asked for. */
function send(head: string[]) {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => {});
  socket.write(`${["POST /api/llm/demo/x HTTP/1.1", "host: dormouse", ...head].join("\r\n")}\r\n\r\n`);
  return socket;
}

describe("a listener for sandboxes", () => {
  it.each([
    ["no token", []],
    ["another's token", ["authorization: Bearer bad"]],
    ["a token of a proxy", ["proxy-authorization: Bearer bad"]],
  ])("refuses a request with %s before its body was sent, and lets go of it", async (_, headers) => {
    const socket = send([...headers, "content-length: 1000000"]);
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toContain("unauthenticated");
    expect(served).toEqual([]);
  });

  it("does not ask for a body before it knows who sends it", async () => {
    const expecting = ["content-length: 5", "expect: 100-continue"];
    expect(await text(send(expecting))).not.toContain("100 Continue");
    const socket = send([...expecting, `authorization: ${token}`, "connection: close"]);
    const [first] = await once(socket.setEncoding("utf8"), "data");
    expect(first).toContain("100 Continue");
    socket.write("hello");
    expect(await text(socket)).toContain("got hello");
    expect(served).toEqual(["/api/llm/demo/x"]);
  });

  it("says that it cannot tell when the database is away", async () => {
    answersTokens = () => {
      throw new Error("away");
    };
    const answer = await text(send(["content-length: 5", `authorization: ${token}`]));
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(served).toEqual([]);
  });

  it("leaves CONNECT to the egress, and takes no upgrade", async () => {
    const tunnel = connect({ host: "127.0.0.1", port });
    tunnel.write("CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n");
    expect(await text(tunnel)).toMatch(/^HTTP\/1\.1 407 /);
    expect(await text(send(["connection: upgrade", "upgrade: websocket", `authorization: ${token}`]))).toBe("");
  });
});
