import { randomBytes } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createBlockPool } from "./block-filler.ts";
import { gzipBlocks } from "./gzip-blocks.ts";

test.each([
  { gently: false, ahead: 6 },
  { gently: true, ahead: 1 },
])("with gently $gently, $ahead of the blocks are under way at once", async ({ gently, ahead }) => {
  const pool = createBlockPool();
  const content = randomBytes(4_000_000);
  let taken = 0;
  async function* blocks() {
    for (let start = 0; start < content.length; ) {
      const block = pool.take();
      const length = content.copy(block, 0, start);
      start += length;
      taken += 1;
      yield block.subarray(0, length);
    }
  }
  const members: Buffer[] = [];
  let mostAhead = 0;
  for await (const member of gzipBlocks(blocks(), pool, { gently })) {
    mostAhead = Math.max(mostAhead, taken - members.length);
    members.push(Buffer.from(member));
  }
  expect(mostAhead).toBe(ahead);
  expect(gunzipSync(Buffer.concat(members)).equals(content)).toBe(true);
});
