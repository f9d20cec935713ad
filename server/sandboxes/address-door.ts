import { connect, type Socket } from "node:net";
import { Agent } from "undici";
import type { SandboxDoor } from "./sandbox-backend.ts";

const connectMilliseconds = 5_000;

/** For every backend whose sidecars listen on an address. The backend closes it. */
export function openAddressDoor(address: { host: string; port: number }): SandboxDoor & { close(): Promise<void> } {
  const { host, port } = address;
  const dispatcher = new Agent({ connect: { timeout: connectMilliseconds } });
  return {
    dispatcher,
    origin: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    connect: () => connectToAddress(address),
    close: () => dispatcher.destroy(),
  };
}

export function connectToAddress({ host, port }: { host: string; port: number }): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    const late = setTimeout(() => socket.destroy(new Error("The door did not open in time.")), connectMilliseconds);
    // Stays: a sandbox may die before its new owner listens, and an error that nobody hears ends the server.
    socket.on("error", (error) => {
      clearTimeout(late);
      reject(error);
    });
    socket.once("connect", () => {
      clearTimeout(late);
      resolve(socket);
    });
  });
}
