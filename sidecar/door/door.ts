import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Problem, problemBody, problemOf } from "../sidecar-problem.ts";
import { createExchange, type Exchange } from "./exchange.ts";
import type { StreamIdentity } from "./read-upload.ts";
import { findNonce, type RequestVerifier } from "./verify-request.ts";

export type Handle = (exchange: Exchange, parameters: string[]) => Promise<void> | void;

export interface Route {
  method: string;
  path: RegExp;
  handle: Handle;
  /** Answered without a signature: says nothing that helps, changes nothing. */
  open?: boolean;
}

export interface DoorOptions {
  routes: readonly Route[];
  verifier: RequestVerifier;
  bootSecret: Uint8Array;
  /** Whose signature vouches for streamed bodies. */
  identity: StreamIdentity;
  report(message: string): void;
}

/** The sandbox's only door: each request is checked before its route is even looked for. */
export function createDoor({ routes, verifier, bootSecret, identity, report }: DoorOptions): Server {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url: path = "/", headers } = request;
    const nonce = findNonce(headers);
    const [pathname = ""] = path.split("?", 1);
    const matching = routes.find((route) => matches(route.method, method) && route.path.test(pathname));
    const opened = (bodyHash: string) => createExchange({ request, response, nonce, bodyHash, bootSecret, identity });
    let exchange = opened("");
    try {
      if (!matching?.open) exchange = opened(verifier.verify({ method, path, headers }).bodyHash);
      if (!matching) throw new Problem("not-found", `The sidecar has no ${method} ${pathname}.`);
      await matching.handle(exchange, matching.path.exec(pathname)?.slice(1) ?? []);
    } catch (error) {
      const problem = problemOf(error);
      if (problem.cause) report(`${method} ${pathname}: ${(problem.cause as Error).stack ?? problem.cause}`);
      exchange.problem(problem);
    }
  }

  // A large archive may take its time to arrive; silence in between is bounded where bodies are read.
  const server = createServer(
    { requireHostHeader: false, requestTimeout: 3_600_000, keepAliveTimeout: 60_000 },
    (request, response) => {
      response.on("error", () => {});
      request.on("error", () => {});
      answer(request, response).catch((error: Error) => {
        report(error.stack ?? error.message);
        response.destroy();
      });
    },
  );
  server.on("clientError", (_error, socket) => {
    // Whoever was answered already only gets the rest of that.
    if (!socket.writable || (socket as Socket).bytesWritten > 0) return (socket as Socket).destroySoon();
    const body = problemBody({ kind: "invalid-input", message: "This request cannot be read." });
    const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`, () => socket.destroy());
  });
  return server;
}

function matches(wanted: string, method: string): boolean {
  return wanted === "*" || wanted === method;
}
