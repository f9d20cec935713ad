import { heartbeatMilliseconds } from "@/server/protocol/limits.ts";
import { encodeCursor, type SessionEvent } from "@/server/protocol/session-events.ts";

/** As it goes over the wire. */
export interface SseFrame {
  event: string;
  id: string | null;
  /** JSON. */
  data: string;
}

const encoder = new TextEncoder();

/**
 * A stream that ends with its viewer, and with the server after a `stopping` event. `makeFrames` is
 * called once the stream is read and gets the signal that ends it.
 */
export function sseResponse(options: {
  makeFrames: (signal: AbortSignal) => AsyncIterable<SseFrame>;
  viewer: AbortSignal;
  stopping: AbortSignal;
  onError: (error: unknown) => void;
}): Response {
  const { makeFrames, viewer, stopping, onError } = options;
  const leaving = new AbortController();
  const ended = AbortSignal.any([viewer, leaving.signal, stopping]);
  let timer: NodeJS.Timeout | undefined;

  async function pump(controller: ReadableStreamDefaultController<Uint8Array>, room: () => Promise<void>) {
    const send = (text: string) => controller.enqueue(encoder.encode(text));
    // Sent at once, so that the browser's connection counts as open.
    send("retry: 1000\n\n");
    timer = setInterval(() => {
      if (!ended.aborted) send(": still here\n\n");
    }, heartbeatMilliseconds.browser);
    try {
      for await (const frame of makeFrames(ended)) {
        if (ended.aborted) break;
        send(encodeFrame(frame));
        if ((controller.desiredSize ?? 0) <= 0) await room();
      }
      if (stopping.aborted && !viewer.aborted) send("event: stopping\ndata: {}\n\n");
    } catch (error) {
      if (!viewer.aborted && !leaving.signal.aborted) onError(error);
    } finally {
      clearInterval(timer);
      close(controller);
    }
  }

  let makeRoom = () => {};
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const room = () =>
          new Promise<void>((resolve) => {
            makeRoom = resolve;
            ended.addEventListener("abort", () => resolve(), { once: true });
          });
        void pump(controller, room);
      },
      pull: () => makeRoom(),
      cancel: () => leaving.abort(),
    },
    { highWaterMark: 64 * 1024, size: (chunk) => chunk.byteLength },
  );
  return new Response(body, {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      connection: "keep-alive",
    },
  });
}

export function toFrame(event: SessionEvent): SseFrame {
  return {
    event: event.event,
    id: event.event === "entries" ? String(event.data.version) : null,
    data: toJson(event.data),
  };
}

export function toFollowedFrame(event: SessionEvent, sessionId: string, cursor: Record<string, number> | null) {
  const json = toJson(event.data);
  const data = `{"sessionId":"${sessionId}"${json === "{}" ? "}" : `,${json.slice(1)}`}`;
  return { event: event.event, id: cursor && encodeCursor(cursor), data };
}

/** Events of the log are shared by all who follow: they are turned into text once. */
const texts = new WeakMap<object, string>();

function toJson(data: object): string {
  const text = texts.get(data) ?? JSON.stringify(data);
  texts.set(data, text);
  return text;
}

function encodeFrame({ event, id, data }: SseFrame): string {
  return `event: ${event}\n${id === null ? "" : `id: ${id}\n`}data: ${data}\n\n`;
}

function close(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // The viewer was faster.
  }
}
