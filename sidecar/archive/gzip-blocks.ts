import { setTimeout as sleep } from "node:timers/promises";
import { type BlockPool, blockSize } from "./block-filler.ts";
import { type Compressor, createCompressors } from "./compressor.ts";
import { statingItsLength } from "./gzip-member.ts";
import { isWorthCompressing } from "./is-worth-compressing.ts";
import { workAhead } from "./work-ahead.ts";

/** Level 1 of the zlib in Node makes less of text than `gzip -1` does, and more of programs; level 2 takes longer. */
const levels = { text: 1, other: 2 };
/** Text shrinks to less than this. */
const maxShareOfText = 0.4;
/** More than the thread pool has threads: none waits while this one reads files. */
const atOnce = 6;

/** A block that took longer had to wait for others, and has made room already. */
const maxPause = 200;

/**
 * Each block becomes a gzip member of its own, several at once on the thread pool: every gunzip reads
 * members one after another as one stream. `gently`, it is one at a time, and as long again as that took is left to
 * others: at most half of one core.
 */
export async function* gzipBlocks(
  blocks: AsyncIterable<Buffer>,
  pool: BlockPool,
  { gently = false } = {},
): AsyncGenerator<Buffer> {
  const text = createCompressors({ level: levels.text, blockBytes: blockSize });
  const other = createCompressors({ level: levels.other, blockBytes: blockSize });
  const storing = createCompressors({ level: 0, blockBytes: blockSize });
  // A block is mostly like those before it.
  let share = 1;
  const makeMember = async (block: Buffer) => {
    const member = await shorter(block, share < maxShareOfText ? text : other, storing);
    share = member.length / block.length;
    pool.give(block);
    return member;
  };
  const makeGently = async (block: Buffer) => {
    const began = performance.now();
    const member = await makeMember(block);
    await sleep(Math.min(performance.now() - began, maxPause));
    return member;
  };
  try {
    const members = gently ? workAhead(blocks, 1, makeGently) : workAhead(blocks, atOnce, makeMember);
    for await (const member of members) yield statingItsLength(member);
  } finally {
    for (const compressor of [text, other, storing]) compressor.close();
  }
}

async function shorter(block: Buffer, compressing: Compressor, storing: Compressor): Promise<Buffer> {
  if (await isWorthCompressing(block)) {
    const member = await compressing.compress(block);
    if (member.length <= block.length) return member;
  }
  return storing.compress(block);
}
