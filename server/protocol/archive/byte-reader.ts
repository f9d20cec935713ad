import { broken } from "./decode-header.ts";

/**
 * Takes exact amounts from a stream of chunks, holding no more than the chunk that it is in. What it gives is good
 * until the next call: chunks may be used again by whoever makes them.
 */
export interface ByteReader {
  /** Null at the end of the stream; damaged when it ends in between. */
  take(bytes: number): Promise<Buffer | null>;
  /** Without waiting; null when not all of it is here. */
  takeNow(bytes: number): Buffer | null;
  /** What follows the next `skipped` bytes, still to be taken; null when not all of it is here. */
  peekNow(skipped: number, bytes: number): Buffer | null;
  /** The next `bytes`, in pieces as they come. */
  pieces(bytes: number): AsyncGenerator<Buffer>;
  /** Reads and forgets all that is left. */
  drain(): Promise<void>;
}

export function createByteReader(source: AsyncIterable<Uint8Array>, onBytes: (total: number) => void): ByteReader {
  const iterator = source[Symbol.asyncIterator]();
  let current: Buffer = Buffer.alloc(0);
  let received = 0;

  /** False at the end. */
  async function more(): Promise<boolean> {
    for (;;) {
      const { done, value } = await iterator.next();
      if (done) return false;
      if (value.length === 0) continue;
      current = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      received += current.length;
      onBytes(received);
      return true;
    }
  }

  function next(maxBytes: number): Buffer {
    const piece = current.subarray(0, maxBytes);
    current = current.subarray(piece.length);
    return piece;
  }

  return {
    takeNow: (bytes) => (current.length >= bytes ? next(bytes) : null),
    peekNow: (skipped, bytes) =>
      current.length >= skipped + bytes ? current.subarray(skipped, skipped + bytes) : null,
    async take(bytes) {
      if (current.length >= bytes) return next(bytes);
      const whole = Buffer.allocUnsafe(bytes);
      let taken = 0;
      while (taken < bytes) {
        if (current.length === 0 && !(await more())) {
          if (taken === 0) return null;
          throw broken("it ends within an entry");
        }
        taken += next(bytes - taken).copy(whole, taken);
      }
      return whole;
    },
    async *pieces(bytes) {
      let missing = bytes;
      while (missing > 0) {
        if (current.length === 0 && !(await more())) throw broken("it ends within an entry");
        const piece = next(missing);
        missing -= piece.length;
        yield piece;
      }
    },
    async drain() {
      current = Buffer.alloc(0);
      while (await more()) current = Buffer.alloc(0);
    },
  };
}
