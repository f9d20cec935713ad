import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { readAgentEvents } from "./read-agent-events.ts";

test("an agent that is silent is given up, but not for the time in which it was frozen", async () => {
  const agent = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify({ payload: { type: "server.connected" } })}\n\n`);
  });
  agent.listen(0, "127.0.0.1");
  await once(agent, "listening");
  const over = new AbortController();
  let looks = 0;
  let isFrozen = true;
  let ended: string | null = null;
  const reading = readAgentEvents({
    address: { host: "127.0.0.1", port: (agent.address() as AddressInfo).port, authorization: "Basic none" },
    onConnected() {},
    onEvent() {},
    lastFrozenAt() {
      looks += 1;
      return isFrozen ? performance.now() : Number.NEGATIVE_INFINITY;
    },
    maxSilence: 20,
    signal: over.signal,
  }).then((cause) => {
    ended = cause;
    return cause;
  });
  await vi.waitUntil(() => looks >= 3, { timeout: 20_000 });
  expect(ended).toBeNull();
  isFrozen = false;
  expect(await reading).toBe("silence");
  over.abort();
  agent.closeAllConnections();
  agent.close();
});
