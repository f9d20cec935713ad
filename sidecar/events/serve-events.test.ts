import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createParser } from "eventsource-parser";
import { afterEach, describe, expect, it } from "vitest";
import type { NumberedEvent } from "../../server/protocol/sidecar.ts";
import { createDoor } from "../door/door.ts";
import { createRequestVerifier } from "../door/verify-request.ts";
import { waitUntil } from "../test-sidecar.ts";
import { createEventBuffer } from "./event-buffer.ts";
import { serveEvents } from "./serve-events.ts";

describe("serving events", () => {
  let server: Server;
  afterEach(() => void server.closeAllConnections());

  async function listen(buffer: ReturnType<typeof createEventBuffer>, onWaiting: (bytes: number) => void) {
    const { publicKey } = generateKeyPairSync("ed25519");
    server = createDoor({
      routes: [
        {
          method: "GET",
          path: /^\/agent-events$/,
          open: true,
          async handle(exchange) {
            const watch = setInterval(() => onWaiting(exchange.response.writableLength), 1);
            await serveEvents(exchange, buffer, "boot").finally(() => clearInterval(watch));
          },
        },
      ],
      verifier: createRequestVerifier({
        sandboxId: randomUUID(),
        bootId: "boot",
        publicKey,
      }),
      bootSecret: randomBytes(32),
      identity: { sandboxId: "s", bootId: "b", publicKey },
      report: () => {},
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  it("tells a reader that was too slow what it missed, and holds nothing back for it meanwhile", async () => {
    const buffer = createEventBuffer({ maxEvents: 1_000 });
    const append = () =>
      buffer.append({
        type: "agent",
        directory: null,
        payload: { type: "x", properties: { text: "x".repeat(2_000) } },
      });
    append();
    let maxHeld = 0;
    const port = await listen(buffer, (bytes) => {
      maxHeld = Math.max(maxHeld, bytes);
    });
    const sent = request({ host: "127.0.0.1", port, path: "/agent-events?after=0", agent: false });
    sent.end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    // Nobody reads while 40 MB of events pass.
    for (let index = 0; index < 200; index += 1) {
      for (let count = 0; count < 100; count += 1) append();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const events: NumberedEvent[] = [];
    const parser = createParser({ onEvent: ({ data }) => events.push(JSON.parse(data)) });
    answer.setEncoding("utf8").on("data", (text) => parser.feed(text));
    await waitUntil(() => events.some((event) => "number" in event && event.number === buffer.last), "the last event");
    sent.destroy();
    expect(maxHeld).toBeLessThan(1024 * 1024);
    const gaps = events.filter((event) => event.type === "gap");
    expect(gaps.length).toBeGreaterThan(0);
    let next = 1;
    for (const event of events) {
      if (event.type === "gap") {
        expect(event.from).toBe(next);
        next = event.to + 1;
      } else if ("number" in event) {
        expect(event.number).toBe(next);
        next += 1;
      }
    }
    expect(next).toBe(buffer.last + 1);
  });
});
