import { Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { AppError } from "../errors.ts";
import { bounded } from "../lib/bounded.ts";
import type { ByteSource, ByteStream } from "./file-store.ts";

/** Reads a source chunk by chunk, and ends it on every way out: its owner must not wait for a reader that is gone. */
export async function* pull(
  source: ByteSource,
  { signal, idleMilliseconds }: { signal: AbortSignal; idleMilliseconds: number },
): AsyncGenerator<Uint8Array, void, void> {
  const stream = source instanceof ReadableStream ? Readable.fromWeb(source) : source;
  // Its errors reach us through the iterator; one that comes after the end concerns nobody.
  if (stream instanceof Readable) stream.on("error", () => {});
  const iterator = stream[Symbol.asyncIterator]();
  const late = () => new AppError("timeout", "The data to store did not arrive in time");
  try {
    while (true) {
      const next = await bounded(() => iterator.next(), { signal, milliseconds: idleMilliseconds, late });
      if (next.done) return;
      // A stream that decodes would lose bytes in silence.
      if (!(next.value instanceof Uint8Array)) throw new AppError("internal", "Only bytes can be stored");
      if (next.value.byteLength > 0) yield next.value;
    }
  } finally {
    // Not awaited: a generator that waits for its next chunk returns only when that has come.
    if (stream instanceof Readable) stream.destroy();
    else void iterator.return?.()?.then(undefined, () => {});
  }
}

/** One whole write: it ends in its time, and so does its source, also when nothing was ever read of it. */
export async function boundedWrite<Result>(
  { body, signal, milliseconds }: { body: ByteSource; signal: AbortSignal; milliseconds: number },
  write: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = AbortSignal.timeout(milliseconds);
  try {
    signal.throwIfAborted();
    return await write(AbortSignal.any([signal, deadline]));
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error;
    throw new AppError("timeout", "Storing took too long", { cause: error });
  } finally {
    end(body);
  }
}

function end(source: ByteSource): void {
  if (source instanceof Readable) source.destroy();
  else if (!(source instanceof ReadableStream))
    void source[Symbol.asyncIterator]()
      .return?.()
      ?.then(undefined, () => {});
  // A locked one is being read, and ended by its reader.
  else if (!source.locked) void source.cancel().catch(() => {});
}

interface ChunkReader {
  /** Null at the end. */
  next(): Promise<Uint8Array | null>;
  close(): Promise<void>;
  signal: AbortSignal;
}

/** A stream over something that was opened already, and that is closed even when nobody ever reads. */
export function toByteStream({ next, close, signal }: ChunkReader): ByteStream {
  const stream: Readable = new Readable({
    highWaterMark: 256 * 1024,
    read() {
      next().then(
        (chunk) => stream.push(chunk),
        (error) => stream.destroy(error),
      );
    },
    destroy(error, done) {
      signal.removeEventListener("abort", abort);
      close().then(
        () => done(error),
        () => done(error),
      );
    },
  });
  const abort = () => void stream.destroy(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return stream;
}
