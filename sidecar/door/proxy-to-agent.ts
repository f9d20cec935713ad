import { Agent, type IncomingMessage, request as sendRequest } from "node:http";
import { pipeline } from "node:stream/promises";
import { endToEndHeaders } from "../hop-headers.ts";
import { fault, type Problem } from "../sidecar-problem.ts";
import type { AgentAddress } from "../supervisor/agent-process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Exchange } from "./exchange.ts";

const pool = new Agent({ keepAlive: true, maxSockets: 64 });
/** Of silence, for a call that nobody waits for any more. */
const maxAloneMilliseconds = 60_000;

/**
 * Undo and redo by session, from their arrival until opencode has answered or ended. It goes on with them though
 * nobody waits any more, and answers others meanwhile: so whatever comes later for that session waits, and finds
 * them done.
 */
const reversals = new Map<string, Promise<void>>();

/**
 * `/agent/*`: opencode's own API, streamed. The body was checked as a whole before, so it is sent as
 * a whole. Only reads use pooled connections: those may be tried again when the pooled one had just
 * been closed.
 *
 * A caller who leaves before the answer does not cut the call short: opencode would interrupt what it had
 * begun to set up for that directory, and remember the interruption as its result.
 */
export async function proxyToAgent(exchange: Exchange, path: string, supervisor: Supervisor): Promise<void> {
  const [, session = "", verb = ""] = /^\/session\/(ses_\w+)(?:\/(\w+))?/.exec(path) ?? [];
  const isReversal = verb === "revert" || verb === "unrevert";
  const before = verb === "abort" ? undefined : reversals.get(session);
  const over = Promise.withResolvers<void>();
  if (isReversal) reversals.set(session, over.promise);
  try {
    if (before) await Promise.race([before, whenAborted(exchange.signal)]);
    if (!before || !exchange.signal.aborted) await forward(exchange, { path, supervisor, isReversal });
  } finally {
    over.resolve();
    if (reversals.get(session) === over.promise) reversals.delete(session);
  }
}

async function forward(
  exchange: Exchange,
  { path, supervisor, isReversal }: { path: string; supervisor: Supervisor; isReversal: boolean },
): Promise<void> {
  const body = await exchange.body();
  const address = supervisor.address();
  if (!address) throw notRunning(supervisor);
  const target = `${path}${exchange.search}`;
  let answer: IncomingMessage;
  try {
    const pooled = exchange.request.method === "GET";
    answer = await ask({ exchange, address, body, target, isReversal, pooled }).catch((error) => {
      if (!(error as { reused?: boolean }).reused) throw error;
      return ask({ exchange, address, body, target, isReversal, pooled: false });
    });
  } catch (error) {
    if (exchange.signal.aborted) return;
    throw supervisor.address() === address ? fault("agent-away", error) : notRunning(supervisor);
  }
  if (exchange.signal.aborted) return void answer.destroy();
  exchange.stream(answer.statusCode ?? 502, endToEndHeaders(answer.headers));
  // Either side's end is the other's: a cut stream must not look like a finished one.
  await pipeline(answer, exchange.response).catch(() => exchange.response.destroy());
}

function ask(input: {
  exchange: Exchange;
  address: AgentAddress;
  body: Buffer;
  target: string;
  isReversal: boolean;
  pooled: boolean;
}): Promise<IncomingMessage> {
  const { exchange, address, body, target, isReversal, pooled } = input;
  const { method = "GET", headers } = exchange.request;
  return new Promise((resolve, reject) => {
    const request = sendRequest({
      host: address.host,
      port: address.port,
      method,
      path: target,
      headers: {
        ...endToEndHeaders(headers, ["authorization", "cookie", "content-length"]),
        authorization: address.authorization,
        ...(body.length > 0 || method !== "GET" ? { "content-length": body.length } : {}),
      },
      agent: pooled ? pool : false,
    });
    const onLeft = () => request.setTimeout(maxAloneMilliseconds, () => request.destroy());
    if (!isReversal) exchange.signal.addEventListener("abort", onLeft, { once: true });
    request.on("close", () => exchange.signal.removeEventListener("abort", onLeft));
    request.on("response", resolve);
    request.on("error", (error) => reject(Object.assign(error, { reused: pooled && request.reusedSocket })));
    request.end(body);
  });
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function notRunning({ state, cause }: Supervisor): Problem {
  const names = { failed: "agent-start", running: "agent-away" } as const;
  return fault(state === "failed" || state === "running" ? names[state] : "agent-starting", new Error(cause ?? state));
}
