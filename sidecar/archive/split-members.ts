import { memberHeaderBytes, statedLength } from "./gzip-member.ts";

/** Of one member, packed; others are unpacked as a stream. */
const mostMemberBytes = 4 * 1024 * 1024;

export interface SplitMembers {
  /** The members at the beginning of the source that state their length. The last one is cut where the source is. */
  members: AsyncIterable<Buffer>;
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

  /** False at the end of the source. */
  async function more(): Promise<boolean> {
    const { done, value } = await iterator.next();
    if (done) return false;
    held.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    heldBytes += value.byteLength;
    return true;
  }

  /** So many of what is held, or fewer at the end. */
  async function take(bytes: number): Promise<Buffer> {
    while (heldBytes < bytes && (await more()));
    const all = held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held);
    const taken = all.subarray(0, bytes);
    held = taken.length < all.length ? [all.subarray(bytes)] : [];
    heldBytes -= taken.length;
    return taken;
  }

  async function peek(bytes: number): Promise<Buffer> {
    const taken = await take(bytes);
    held.unshift(taken);
    heldBytes += taken.length;
    return taken;
  }

  async function* members(): AsyncGenerator<Buffer> {
    for (;;) {
      const length = statedLength(await peek(memberHeaderBytes));
      if (length === null || length <= memberHeaderBytes || length > mostMemberBytes) return;
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
    peek,
    rest: rest(),
    close() {
      // Not waited for: whoever sends may have stopped.
      iterator.return?.()?.catch(() => {});
    },
  };
}
