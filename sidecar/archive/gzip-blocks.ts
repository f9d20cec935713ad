import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type BlockPool, blockSize } from "./block-filler.ts";

const compress = promisify(gzip);
/** Takes the zlib of Node hardly longer than level 1 does, and makes less of it. */
const level = 2;
/** As many as the thread pool has threads. */
const atOnce = 4;
/** Room for a whole block that does not shrink, so that each is one trip to the thread pool. */
const outputBytes = blockSize + 64 * 1024;

/**
 * Each block becomes a gzip member of its own, several at once on the thread pool: every gunzip reads
 * members one after another as one stream.
 */
export async function* gzipBlocks(blocks: AsyncIterable<Buffer>, pool: BlockPool): AsyncGenerator<Buffer> {
  const underway: Promise<Buffer>[] = [];
  try {
    for await (const block of blocks) {
      const member = compress(block, { level, memLevel: 9, chunkSize: outputBytes }).finally(() => pool.give(block));
      // Rejections wait for their turn below.
      member.catch(() => {});
      underway.push(member);
      if (underway.length >= atOnce) yield (await underway.shift()) as Buffer;
    }
    while (underway.length > 0) yield (await underway.shift()) as Buffer;
  } finally {
    await Promise.allSettled(underway);
  }
}
