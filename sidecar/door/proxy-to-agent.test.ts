import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { causes } from "../../server/protocol/causes.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Exchange } from "./exchange.ts";
import { proxyToAgent } from "./proxy-to-agent.ts";

test("what is asked of a session while an undo is under way is asked after it, though its caller has left", async () => {
  const asked: string[] = [];
  const undoing = Promise.withResolvers<() => void>();
  const agent = createServer((request, response) => {
    asked.push(request.url ?? "");
    request.resume();
    if (request.url?.endsWith("/revert")) undoing.resolve(() => response.end("{}"));
    else response.end("{}");
  });
  agent.listen(0, "127.0.0.1");
  await once(agent, "listening");
  const address = { host: "127.0.0.1", port: (agent.address() as AddressInfo).port, authorization: "Basic none" };
  const supervisor = { address: () => address } as unknown as Supervisor;
  const ask = (method: string, path: string, signal = new AbortController().signal) =>
    proxyToAgent(exchangeOf(method, signal), path, supervisor);
  const caller = new AbortController();
  const undo = ask("POST", "/session/ses_1/revert", caller.signal);
  const answerUndo = await undoing.promise;
  caller.abort();
  const later = ask("GET", "/session/ses_1");
  await Promise.all([ask("GET", "/session/ses_2"), ask("POST", "/session/ses_1/abort")]);
  answerUndo();
  await Promise.all([undo, later]);
  expect(asked).toEqual(["/session/ses_1/revert", expect.anything(), expect.anything(), "/session/ses_1"]);
  agent.close();
});

function exchangeOf(method: string, signal: AbortSignal): Exchange {
  return {
    request: { method, headers: {} },
    search: "",
    signal,
    response: new PassThrough().resume(),
    body: async () => Buffer.alloc(0),
    stream() {},
  } as unknown as Exchange;
}

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
  await proxyToAgent(exchangeOf("GET", caller.signal), "/config/providers", {
    address: () => address,
  } as unknown as Supervisor);
  expect(await finished.promise).toBe(true);
  agent.close();
});

describe("an agent that does not answer", () => {
  const problem = (supervisor: Partial<Supervisor>) =>
    proxyToAgent(exchangeOf("GET", new AbortController().signal), "/session", supervisor as Supervisor).then(
      () => null,
      (error: unknown) => error,
    );

  test("is said to have broken off, in words without a code", async () => {
    const agent = createServer((request) => request.socket.destroy()).listen(0, "127.0.0.1");
    await once(agent, "listening");
    const address = { host: "127.0.0.1", port: (agent.address() as AddressInfo).port, authorization: "Basic none" };
    const away = { kind: "unavailable", message: causes["agent-away"].message };
    expect(await problem({ address: () => address })).toMatchObject(away);
    agent.close();
    await once(agent, "close");
    expect(await problem({ address: () => address })).toMatchObject(away);
  });

  test("is said to be starting, or not to start, and why is the log's affair", async () => {
    const cause = "opencode exited with 1";
    for (const [state, name] of [
      ["waiting", "agent-starting"],
      ["starting", "agent-starting"],
      ["restarting", "agent-starting"],
      ["failed", "agent-start"],
      ["running", "agent-away"],
    ] as const) {
      const said = await problem({ address: () => null, state, cause });
      expect(said).toMatchObject({ message: causes[name].message, cause: new Error(cause) });
    }
  });
});
