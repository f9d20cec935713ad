import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** What a sandbox may ask of the server. Both know the sandbox by its token. */
export interface SandboxRequests {
  /** Model and API calls. */
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** CONNECT: its way out. */
  connect(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** Not listening yet: on a socket of one sandbox, or on an address for many. */
export interface RequestServer {
  readonly server: Server;
  /** Tunnels included. */
  close(): Promise<void>;
}

export function createRequestServer(requests: SandboxRequests): RequestServer {
  const server = createServer((request, response) => requests.serve(request, response));
  // Tunnels leave the HTTP server's own books.
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("connect", (request, socket, head) => requests.connect(request, socket, head));
  server.on("upgrade", (_request, socket) => socket.destroy());
  server.on("clientError", (_error, socket) => socket.destroy());
  server.unref();
  return {
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
