import { memberHeaderBytes, statedLength } from "./gzip-member.ts";

/** Of one member, packed; others are unpacked as a stream. */
const maxMemberBytes = 4 * 1024 * 1024;

/** Of text; for others a larger buffer is made. */
const usualMemberBytes = 256 * 1024;

export interface SplitMembers {
  /** The members at the beginning of the source that state their length. The last one is cut where the source is. */
  members: AsyncIterable<Buffer>;
  /** Gives back a member that is needed no more: its buffer is used for another. */
  release(member: Buffer): void;
  /** After `members`: the first bytes of what follows them, fewer at the end. */
  peek(bytes: number): Promise<Buffer>;
  /** After `members`: all that follows them. */
  rest: AsyncIterable<Buffer>;
  /** Gives up the source. */
  close(): void;
}

export function splitMembers(source: AsyncIterable<Uint8Array>): SplitMembers {
  const iterator = source[Symbol.asyncIterator]();
  let held: Buffer[] = [];
  let heldBytes = 0;
  const free: Buffer[] = [];

  /** False at the end of the source. */
  async function more(): Promise<boolean> {
    const { done, value } = await iterator.next();
    if (done) return false;
    held.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    heldBytes += value.byteLength;
    return true;
  }

  /** So many of what is held, or fewer at the end, as the first of it. */
  async function peek(bytes: number): Promise<Buffer> {
    while (heldBytes < bytes && (await more()));
    if (held.length > 1 && (held[0]?.length ?? 0) < bytes) held = [Buffer.concat(held)];
    return held[0]?.subarray(0, bytes) ?? Buffer.alloc(0);
  }

  /** Copied, so that the chunks that it came in can go. */
  async function take(bytes: number): Promise<Buffer> {
    while (heldBytes < bytes && (await more()));
    const index = free.findIndex(({ length }) => length >= bytes);
    const [member = Buffer.allocUnsafeSlow(Math.max(bytes, usualMemberBytes))] = index < 0 ? [] : free.splice(index, 1);
    let taken = 0;
    for (let chunk = held.shift(); chunk; chunk = taken < bytes ? held.shift() : undefined) {
      const copied = chunk.copy(member, taken, 0, bytes - taken);
      taken += copied;
      if (copied < chunk.length) held.unshift(chunk.subarray(copied));
    }
    heldBytes -= taken;
    return member.subarray(0, taken);
  }

  async function* members(): AsyncGenerator<Buffer> {
    for (;;) {
      const length = statedLength(await peek(memberHeaderBytes));
      if (length === null || length <= memberHeaderBytes || length > maxMemberBytes) return;
      yield await take(length);
    }
  }

  async function* rest(): AsyncGenerator<Buffer> {
    do {
      const chunks = held;
      held = [];
      yield* chunks.filter(({ length }) => length > 0);
    } while (await more());
  }

  return {
    members: members(),
    release: ({ buffer }) => free.push(Buffer.from(buffer)),
    peek,
    rest: rest(),
    close() {
      // Not waited for: whoever sends may have stopped.
      iterator.return?.()?.catch(() => {});
    },
  };
}
