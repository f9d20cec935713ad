import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../lib/logger.ts";
import { createClientAddress } from "./trusted-client-address.ts";

/** A page does not learn its own path from Next; it needs it to lead back after signing in. */
const pathHeader = "x-dormouse-path";

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;
/** Returns false when the path is not its own; otherwise it owns the socket. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;

/**
 * Everything that comes in passes here. It listens before the rest is ready and says so with 503, then
 * serves, then stops: no new connections, idle ones closed, open ones told by `stopping` and waited for.
 */
export interface HttpServer {
  readonly server: Server;
  /** Until this is called, every request is answered with "starting". */
  serve(handle: RequestHandler): void;
  addUpgradeHandler(handler: UpgradeHandler): void;
  close(options: { graceMilliseconds: number }): Promise<void>;
}

export interface HttpServerOptions {
  trustedProxies: readonly string[];
  logger: Pick<Logger, "error" | "debug">;
}

export function createHttpServer({ trustedProxies, logger }: HttpServerOptions): HttpServer {
  const setClientAddress = createClientAddress(trustedProxies);
  const upgradeHandlers: UpgradeHandler[] = [];
  const upgraded = new Set<Duplex>();
  let handle: RequestHandler = answerStarting;
  let closing = false;

  const server = createServer((request, response) => {
    setClientAddress(request);
    request.headers[pathHeader] = request.url?.split("?")[0] ?? "/";
    if (closing) response.setHeader("connection", "close");
    response.on("close", () => {
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
    void answer({ handle, request, response, logger });
  });
  // Slow senders are cut; answers may take as long as they like, since streams stay open for hours.
  server.headersTimeout = 30_000;
  server.requestTimeout = 30 * 60_000;
  server.keepAliveTimeout = 65_000;
  server.timeout = 0;

  server.on("upgrade", (request, socket, head) => {
    upgraded.add(socket);
    socket.on("close", () => upgraded.delete(socket));
    socket.on("error", (error) => logger.debug({ err: error }, "An upgraded connection failed"));
    setClientAddress(request);
    if (!closing && upgradeHandlers.some((handler) => handler(request, socket, head))) return;
    socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", () => socket.destroy());
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

async function answer(options: {
  handle: RequestHandler;
  request: IncomingMessage;
  response: ServerResponse;
  logger: HttpServerOptions["logger"];
}): Promise<void> {
  const { handle, request, response, logger } = options;
  try {
    await handle(request, response);
  } catch (error) {
    logger.error({ err: error, path: request.url?.split("?")[0] }, "A request failed outside its route");
    if (response.headersSent) response.destroy();
    else response.writeHead(500, { "content-type": "text/plain; charset=utf-8" }).end("Something went wrong.\n");
  }
}

function answerStarting(_request: IncomingMessage, response: ServerResponse): void {
  response
    .writeHead(503, { "content-type": "text/plain; charset=utf-8", "retry-after": "2", connection: "close" })
    .end("Dormouse is starting.\n");
}
