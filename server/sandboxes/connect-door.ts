import { connect, type NetConnectOpts, type Socket } from "node:net";

export const connectMilliseconds = 5_000;

/** A connection of its own to a sidecar's door, wherever that is. */
export function connectDoor(where: NetConnectOpts): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(where);
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
