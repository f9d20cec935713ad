import { randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { blockSize, createBlockPool } from "./block-filler.ts";
import { gunzip } from "./gunzip.ts";
import { gzipBlocks } from "./gzip-blocks.ts";
import { memberHeaderBytes, statedLength } from "./gzip-member.ts";
import { chunksOf } from "./test-archives.ts";

const text = Buffer.alloc(2 * blockSize + 1_000, "some text that repeats itself, ");
const noise = randomBytes(2 * blockSize);
const all = Buffer.concat([text, noise]);

async function packed(bytes: Buffer): Promise<Buffer> {
  const pool = createBlockPool();
  async function* blocks() {
    for (let start = 0; start < bytes.length; start += blockSize) {
      const block = pool.take();
      yield block.subarray(0, bytes.copy(block, 0, start));
    }
  }
  return gather(gzipBlocks(blocks(), pool));
}

async function gather(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

const unpacked = (bytes: Buffer, chunkBytes?: number) => gather(gunzip(chunksOf(bytes, chunkBytes)));

describe("members that state their length", () => {
  it.each([1_000, 65_536, 10_000_000])("are unpacked in their order from chunks of %i bytes", async (chunkBytes) => {
    expect((await unpacked(await packed(all), chunkBytes)).equals(all)).toBe(true);
  });

  it("are unpacked in this thread where all cores have work", async () => {
    let isCrowded = false;
    const unpacking = gunzip(chunksOf(await packed(all)), () => {
      isCrowded = !isCrowded;
      return isCrowded;
    });
    expect((await gather(unpacking)).equals(all)).toBe(true);
  });

  it("are one stream to everybody else", async () => {
    expect(gunzipSync(await packed(all)).equals(all)).toBe(true);
  });

  it("hold what does not shrink as it is", async () => {
    const archive = await packed(noise);
    expect(archive.length).toBeLessThan(noise.length * 1.0002);
    expect(archive.includes(noise.subarray(1_000, 2_000))).toBe(true);
  });

  it("hold what only repeats itself from afar as little as it is", async () => {
    const repeated = Buffer.concat(Array.from({ length: 64 }, () => noise.subarray(0, 15_000)));
    expect((await packed(repeated)).length).toBeLessThan(repeated.length / 10);
  });

  it("may be followed by others and by zeros, not by rubbish", async () => {
    const plain = gzipSync("plain");
    const archive = await packed(text);
    expect((await unpacked(Buffer.concat([archive, plain]))).toString("latin1", text.length)).toBe("plain");
    expect((await unpacked(Buffer.concat([archive, plain, archive]))).length).toBe(2 * text.length + 5);
    expect((await unpacked(Buffer.concat([archive, Buffer.alloc(50_000)]))).equals(text)).toBe(true);
    await expect(unpacked(Buffer.concat([archive, Buffer.from("rubbish")]))).rejects.toThrow("The archive is damaged");
  });

  it("are refused where they are cut, changed, or state another length", async () => {
    const archive = await packed(text);
    const length = statedLength(archive) ?? 0;
    const stating = (bytes: number) => {
      const changed = Buffer.from(archive);
      changed.writeUInt32LE(bytes, memberHeaderBytes - 4);
      return changed;
    };
    const changed = Buffer.from(archive);
    changed[length - 6] = (changed[length - 6] ?? 0) ^ 1;
    const gap = Buffer.concat([stating(length + 9).subarray(0, length), Buffer.alloc(9), archive.subarray(length)]);
    for (const bad of [archive.subarray(0, -1), archive.subarray(0, 100), stating(length - 1), changed, gap]) {
      await expect(unpacked(bad)).rejects.toThrow("The archive is damaged");
    }
  });

  it("need not be believed: an impossible length is none", async () => {
    const archive = await packed(text);
    for (const bytes of [0, memberHeaderBytes, 4_000_000_000]) {
      archive.writeUInt32LE(bytes, memberHeaderBytes - 4);
      expect((await unpacked(archive)).equals(text)).toBe(true);
    }
  });
});
