import type { Socket } from "node:net";
import { Agent } from "undici";
import { connectDoor, connectMilliseconds } from "./connect-door.ts";
import type { SandboxDoor } from "./sandbox-backend.ts";

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
  return connectDoor({ host, port, noDelay: true });
}
