/** Blocks that are used again and again, so that memory does not grow with what flows through them. */
export interface BlockPool {
  take(): Buffer;
  give(block: Buffer): void;
}

export const blockSize = 512 * 1024;

export function createBlockPool(): BlockPool {
  const free: Buffer[] = [];
  return {
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(blockSize),
    give(block) {
      // The last one of a stream is a part of one.
      free.push(block.length === blockSize ? block : Buffer.from(block.buffer, block.byteOffset, blockSize));
    },
  };
}

/** Puts pieces of any length into blocks of one size. */
export function createBlockFiller(pool: BlockPool) {
  const ready: Buffer[] = [];
  let block = pool.take();
  let used = 0;

  function next(): void {
    if (used < block.length) return;
    ready.push(block);
    block = pool.take();
    used = 0;
  }

  return {
    add(bytes: Buffer): void {
      for (let start = 0; start < bytes.length; ) {
        const copied = bytes.copy(block, used, start);
        start += copied;
        used += copied;
        next();
      }
    },
    zeros(count: number): void {
      for (let left = count; left > 0; ) {
        const length = Math.min(left, block.length - used);
        block.fill(0, used, used + length);
        left -= length;
        used += length;
        next();
      }
    },
    /** Where up to `most` bytes can be read into at once; `filled` says how many came. */
    space: (maxBytes: number): Buffer => block.subarray(used, Math.min(block.length, used + maxBytes)),
    filled(count: number): void {
      used += count;
      next();
    },
    *full(): Generator<Buffer> {
      for (let whole = ready.shift(); whole; whole = ready.shift()) yield whole;
    },
    /** The last block, as far as it is filled. */
    *rest(): Generator<Buffer> {
      if (used > 0) yield block.subarray(0, used);
      used = 0;
    },
  };
}
