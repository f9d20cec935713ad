import type { IncomingMessage } from "node:http";

const maxSilence = 60_000;

/** A body may take long, but something of it has to come; to be ended when it was read. */
export function boundSilence(request: IncomingMessage): Disposable {
  const { socket } = request;
  const silent = () => request.destroy(new Error("no data arrived for a minute"));
  socket.setTimeout(maxSilence, silent);
  return {
    [Symbol.dispose]() {
      socket.setTimeout(0);
      socket.off("timeout", silent);
    },
  };
}
