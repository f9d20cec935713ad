import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface SandboxRequests {
  /** Model and API calls of a sandbox. */
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** CONNECT: egress of a sandbox. */
  connect(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export interface ServerSocket {
  close(): Promise<void>;
}

/**
 * Where one sandbox reaches the server. In the directory of this socket only the server may write, and
 * only the sandbox may enter, so that neither another sandbox nor the sandbox itself can stand in for it.
 */
export async function openServerSocket(path: string, requests: SandboxRequests): Promise<ServerSocket> {
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
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path }, resolve);
  });
  await chmod(path, 0o666);
  server.unref();
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
