import type { IncomingMessage } from "node:http";

export interface BodyBounds {
  maxBytes: number;
  /** How long nothing may come. */
  idleMilliseconds: number;
}

export type HeldBody = { outcome: "whole"; chunks: readonly Buffer[] } | { outcome: "too-large" | "stalled" | "gone" };

/**
 * Waits until the body is there, in the request's own buffer: whoever answers the request finds it whole and reads it as
 * ever, and is not asked at all about one that is too large or stops coming. Bytes are counted as they come, so a length
 * that was not told, or wrongly, changes nothing.
 */
export function holdBody(request: IncomingMessage, { maxBytes, idleMilliseconds }: BodyBounds): Promise<HeldBody> {
  return new Promise((resolve) => {
    const idle = setTimeout(() => settle({ outcome: "stalled" }), idleMilliseconds);
    const settle = (held: HeldBody) => {
      clearTimeout(idle);
      request.off("close", onClose);
      resolve(held);
    };
    const onClose = () => settle({ outcome: "gone" });
    request.on("close", onClose);
    const chunks: Buffer[] = [];
    let bytes = 0;
    const { push } = request;
    // Node hands each piece over by this method. Told that there is room, it reads on although nobody reads yet.
    request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      if (chunk === null) {
        request.push = push;
        const isRoom = request.push(null);
        settle({ outcome: "whole", chunks });
        return isRoom;
      }
      bytes += chunk.length;
      idle.refresh();
      if (bytes > maxBytes) {
        settle({ outcome: "too-large" });
        return true;
      }
      chunks.push(chunk);
      push.call(request, chunk, encoding);
      return true;
    };
  });
}
