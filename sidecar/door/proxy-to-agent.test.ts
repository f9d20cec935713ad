import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Exchange } from "./exchange.ts";
import { proxyToAgent } from "./proxy-to-agent.ts";

test("a caller who leaves before the answer does not cut the agent's work short", async () => {
  const caller = new AbortController();
  const finished = Promise.withResolvers<boolean>();
  const agent = createServer((request, response) => {
    request.resume();
    response.on("close", () => finished.resolve(response.writableFinished));
    caller.abort();
    setTimeout(() => response.end("done"), 100);
  });
  agent.listen(0, "127.0.0.1");
  await once(agent, "listening");
  const address = { host: "127.0.0.1", port: (agent.address() as AddressInfo).port, authorization: "Basic none" };
  const exchange = {
    request: { method: "GET", headers: {} },
    search: "",
    signal: caller.signal,
    response: new PassThrough().resume(),
    body: async () => Buffer.alloc(0),
    stream() {},
  } as unknown as Exchange;
  await proxyToAgent(exchange, "/config/providers", { address: () => address } as unknown as Supervisor);
  expect(await finished.promise).toBe(true);
  agent.close();
});
