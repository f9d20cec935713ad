import { createHash } from "node:crypto";
import type { ByteSource, ByteStream } from "./file-store.ts";

export const megabyte = 1024 * 1024;

export const never = new AbortController().signal;

/** Bytes that are nowhere the same, so that swapped or repeated parts are noticed. */
export function bytesOf(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed >>> 0 || 1;
  for (let at = 0; at + 4 <= length; at += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes.writeUInt32LE(state, at);
  }
  for (let at = length & ~3; at < length; at++) bytes[at] = at + seed;
  return bytes;
}

export async function* inChunks(bytes: Buffer, chunkBytes = 100_003): ByteSource {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

export const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

export async function readAll(stream: ByteStream | null): Promise<Buffer | null> {
  if (!stream) return null;
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
