import { broken } from "./decode-header.ts";

/** Takes exact amounts from a stream of chunks, holding no more than the chunk that it is in. */
export interface ByteReader {
  /** Null at the end of the stream; damaged when it ends in between. */
  take(bytes: number): Promise<Buffer | null>;
  /** Without waiting; null when not all of it is here. */
  takeNow(bytes: number): Buffer | null;
  /** The next `bytes`, in pieces as they come. */
  pieces(bytes: number): AsyncGenerator<Buffer>;
  /** Reads and forgets all that is left. */
  drain(): Promise<void>;
  /** Bytes that came so far. */
  readonly received: number;
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

  function next(most: number): Buffer {
    const piece = current.subarray(0, most);
    current = current.subarray(piece.length);
    return piece;
  }

  return {
    get received() {
      return received;
    },
    takeNow: (bytes) => (current.length >= bytes ? next(bytes) : null),
    async take(bytes) {
      if (current.length >= bytes) return next(bytes);
      const parts: Buffer[] = [];
      let missing = bytes;
      while (missing > 0) {
        if (current.length === 0 && !(await more())) {
          if (missing === bytes) return null;
          throw broken("it ends within an entry");
        }
        const piece = next(missing);
        parts.push(piece);
        missing -= piece.length;
      }
      return Buffer.concat(parts);
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
