import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../lib/logger.ts";
import { createEntrance, type EntranceOptions } from "./entrance/create-entrance.ts";
import { type Refusal, refusal } from "./entrance/refusal.ts";

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;
/** Returns false when the path is not its own; otherwise it owns the socket. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;

/**
 * Everything that comes in passes here, first through the entrance. It listens before the rest is ready and says so with
 * 503, then serves, then stops: no new connections, idle ones closed, open ones told by `stopping` and waited for.
 */
export interface HttpServer {
  readonly server: Server;
  /** Until this is called, every request is answered with "starting". */
  serve(handle: RequestHandler): void;
  addUpgradeHandler(handler: UpgradeHandler): void;
  close(options: { graceMilliseconds: number }): Promise<void>;
}

export interface HttpServerOptions extends EntranceOptions {
  logger: Pick<Logger, "error" | "debug">;
}

// Slow senders are cut; answers may take as long as they like, since streams stay open for hours. How long a body may
// stand still is the entrance's business.
const bounds = {
  headersTimeout: 15_000,
  requestTimeout: 15 * 60_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  // The entrance refuses it in words.
  requireHostHeader: false,
};

export function createHttpServer({ logger, ...options }: HttpServerOptions): HttpServer {
  const entrance = createEntrance(options);
  const upgradeHandlers: UpgradeHandler[] = [];
  const upgraded = new Set<Duplex>();
  const answers = new WeakMap<Duplex, ServerResponse>();
  let handle: RequestHandler = answerStarting;
  let closing = false;

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    answers.set(request.socket, response);
    if (closing) response.setHeader("connection", "close");
    response.on("close", () => {
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
    void answer(request, response);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (await entrance.enter(request, response)) await handle(request, response);
    } catch (error) {
      logger.error({ err: error, path: request.url?.split("?")[0] }, "A request failed outside its route");
      if (response.headersSent) response.destroy();
      else entrance.refuse(request, response, refusal("internal", "Something went wrong on the server."));
    }
  }

  const server = createServer(bounds, onRequest);
  server.on("connection", entrance.connect);
  // Otherwise Node asks for the body before anybody has looked at the headers.
  server.on("checkContinue", onRequest);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const begun = answers.get(socket);
    const isInside = begun?.headersSent && !begun.writableFinished;
    if (error.code === "ECONNRESET" || !socket.writable || isInside) socket.destroy();
    else entrance.refuseSocket(socket, unreadable(error.code));
  });

  server.on("upgrade", (request, socket, head) => {
    upgraded.add(socket);
    socket.on("close", () => upgraded.delete(socket));
    socket.on("error", (error) => logger.debug({ err: error }, "An upgraded connection failed"));
    if (!entrance.enterUpgrade(request, socket)) return;
    if (!closing && upgradeHandlers.some((handler) => handler(request, socket, head))) return;
    entrance.refuseSocket(socket, refusal("not-found", "Nothing here takes such a connection."));
  });

  return {
    server,
    serve(next) {
      handle = next;
    },
    addUpgradeHandler(handler) {
      upgradeHandlers.push(handler);
    },
    async close({ graceMilliseconds }) {
      closing = true;
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await Promise.race([closed, sleep(graceMilliseconds, undefined, { ref: false })]);
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}

function unreadable(code: string | undefined): Refusal {
  if (code === "HPE_HEADER_OVERFLOW") return refusal("too-large", "The headers of this request are too large.", 431);
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return refusal("invalid-input", "This request did not come in time. Send it again.", 408);
  }
  return refusal("invalid-input", "This is not a valid HTTP request.");
}

function answerStarting(_request: IncomingMessage, response: ServerResponse): void {
  response
    .writeHead(503, { "content-type": "text/plain; charset=utf-8", "retry-after": "2", connection: "close" })
    .end("Dormouse is starting.\n");
}
