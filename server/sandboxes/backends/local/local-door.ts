import type { Socket } from "node:net";
import { Agent } from "undici";
import { connectDoor } from "../../connect-door.ts";
import type { SandboxDoor } from "../../sandbox-backend.ts";
import { closeAll, openForBinding } from "./path-descriptors.ts";

export function openDoor(path: string): SandboxDoor & { close(): Promise<void> } {
  const dispatcher = new Agent({
    connect: (_options, callback) => {
      connectToDoor(path).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      );
    },
  });
  return {
    dispatcher,
    origin: "http://sandbox",
    connect: () => connectToDoor(path),
    close: () => dispatcher.destroy(),
  };
}

/**
 * The sandbox may exchange its socket for anything, also a link to a socket of the host. A handle on
 * the entry itself, which is then connected to through /proc, does not follow one.
 */
export async function connectToDoor(path: string): Promise<Socket> {
  if (process.platform !== "linux") return connectDoor({ path });
  const descriptors = await openForBinding([path], { follow: false });
  const connecting = connectDoor({ path: `/proc/self/fd/${descriptors[0]}` });
  await Promise.allSettled([connecting]);
  await closeAll(descriptors);
  const socket = await connecting;
  if (socket.destroyed) throw socket.errored ?? new Error("The door closed at once.");
  return socket;
}
