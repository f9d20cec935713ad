import { encodeCursor, type SessionEvent } from "../protocol/session-events.ts";
import type { ManyEvent } from "../sessions/index.ts";

/** One server-sent event. The body is shared by all viewers; where one goes on after a return is its own. */
export interface EventFrame {
  id: string | null;
  /** `event` and `data`, and the empty line that ends them. */
  body: Uint8Array;
}

/** On a session's own stream the id is its version. */
export function toFrame({ event, data }: SessionEvent): EventFrame {
  return { id: event === "entries" ? String(data.version) : null, body: encodeOnce(own, { event, data }) };
}

/** On the stream of all that a browser follows each event names its session, and the id is a cursor. */
export function toFollowedFrame({ sessionId, event, cursor }: ManyEvent): EventFrame {
  const body = encodeOnce(followed, { event: event.event, data: event.data, sessionId });
  return { id: cursor && encodeCursor(cursor), body };
}

// Events of the log are shared by all who follow, so what they become is too.
const own = new WeakMap<object, Uint8Array>();
const followed = new WeakMap<object, Uint8Array>();

function encodeOnce(
  known: WeakMap<object, Uint8Array>,
  { event, data, sessionId }: { event: string; data: object; sessionId?: string },
): Uint8Array {
  const encoded = known.get(data);
  if (encoded) return encoded;
  const json = JSON.stringify(sessionId === undefined ? data : { sessionId, ...data });
  const body = Buffer.from(`event: ${event}\ndata: ${json}\n\n`);
  known.set(data, body);
  return body;
}
