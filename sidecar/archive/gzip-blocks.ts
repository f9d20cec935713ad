import { type BlockPool, blockSize } from "./block-filler.ts";
import { type Compressor, createCompressors } from "./compressor.ts";
import { statingItsLength } from "./gzip-member.ts";
import { isWorthCompressing } from "./is-worth-compressing.ts";
import { workAhead } from "./work-ahead.ts";

/** Takes the zlib of Node a tenth longer than level 1 does, which makes more of programs than `gzip -1` does. */
const level = 2;
/** More than the thread pool has threads: none waits while this one reads files. */
const atOnce = 6;

/**
 * Each block becomes a gzip member of its own, several at once on the thread pool: every gunzip reads
 * members one after another as one stream.
 */
export async function* gzipBlocks(blocks: AsyncIterable<Buffer>, pool: BlockPool): AsyncGenerator<Buffer> {
  const compressing = createCompressors({ level, blockBytes: blockSize });
  const storing = createCompressors({ level: 0, blockBytes: blockSize });
  const makeMember = (block: Buffer) => shorter(block, compressing, storing).finally(() => pool.give(block));
  try {
    for await (const member of workAhead(blocks, atOnce, makeMember)) yield statingItsLength(member);
  } finally {
    compressing.close();
    storing.close();
  }
}

async function shorter(block: Buffer, compressing: Compressor, storing: Compressor): Promise<Buffer> {
  if (await isWorthCompressing(block)) {
    const member = await compressing.compress(block);
    if (member.length <= block.length) return member;
  }
  return storing.compress(block);
}
