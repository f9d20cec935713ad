import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { heartbeatMilliseconds } from "../protocol/limits.ts";
import type { EventFrame } from "./event-frames.ts";

/**
 * A stream of server-sent events that ends with its viewer, and with the server after a `stopping` event.
 * `frames` gets the signal that ends it, and is asked for more only as fast as the viewer reads.
 */
export async function streamEvents(
  response: ServerResponse,
  options: {
    frames: (signal: AbortSignal) => AsyncIterable<EventFrame>;
    stopping: AbortSignal;
    onError: (error: unknown) => void;
  },
): Promise<void> {
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  response.on("close", leave);
  // A connection that breaks is a viewer that leaves.
  response.on("error", leave);
  if (response.destroyed) leave();
  const ended = AbortSignal.any([leaving.signal, options.stopping]);
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    connection: "keep-alive",
  });
  // Sent at once, so that the browser's connection counts as open.
  response.write("retry: 1000\n\n");
  const beat = setInterval(() => response.write(": still here\n\n"), heartbeatMilliseconds.browser);
  try {
    for await (const { id, body } of options.frames(ended)) {
      if (ended.aborted) break;
      if (id !== null) response.write(`id: ${id}\n`);
      if (!response.write(body)) await once(response, "drain", { signal: ended }).catch(() => {});
    }
    if (options.stopping.aborted && !leaving.signal.aborted) response.write("event: stopping\ndata: {}\n\n");
  } catch (error) {
    if (!leaving.signal.aborted) options.onError(error);
  } finally {
    clearInterval(beat);
    response.end();
  }
}
