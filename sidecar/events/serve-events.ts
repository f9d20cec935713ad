import { once } from "node:events";
import { heartbeatMilliseconds } from "../../server/protocol/limits.ts";
import type { NumberedEvent } from "../../server/protocol/sidecar.ts";
import type { Exchange } from "../door/exchange.ts";
import { Problem } from "../sidecar-problem.ts";
import type { EventBuffer } from "./event-buffer.ts";

const batchBytes = 64 * 1024;

/** `GET /agent-events?after=n`. Writes only what the reader takes: who is slow falls behind in the buffer, not in memory. */
export async function serveEvents(exchange: Exchange, buffer: EventBuffer, bootId: string): Promise<void> {
  const { response, signal, query } = exchange;
  const text = query.get("after") ?? "0";
  let after = Number(text);
  if (!/^\d{1,15}$/.test(text)) throw new Problem("invalid-input", "`after` is not the number of an event.");
  if (after > buffer.last) {
    throw new Problem("invalid-input", `Event ${after} does not exist in this boot; the last one is ${buffer.last}.`);
  }
  exchange.stream(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  // Only to a reader that keeps up: comments must not pile up for one that does not.
  const comments = setInterval(
    () => response.writableNeedDrain || response.write(": here\n\n"),
    heartbeatMilliseconds.sidecar,
  );
  try {
    await write(exchange, encode({ type: "hello", oldest: buffer.oldest, last: buffer.last, bootId }));
    while (!signal.aborted) {
      const batch = buffer.read(after, batchBytes);
      if (!batch) {
        const to = buffer.oldest - 1;
        await write(exchange, encode({ type: "gap", from: after + 1, to }));
        after = to;
      } else if (batch.text === "") {
        await buffer.wait(signal);
      } else {
        after = batch.last;
        await write(exchange, batch.text);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(comments);
  }
}

async function write({ response, signal }: Exchange, text: string): Promise<void> {
  if (!response.write(text)) await once(response, "drain", { signal });
}

function encode(event: NumberedEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
