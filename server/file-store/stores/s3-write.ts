import { createHash } from "node:crypto";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { pull } from "../byte-streams.ts";
import type { ByteSource } from "../file-store.ts";
import type { StoreKey } from "../store-key.ts";
import type { S3Calls } from "./s3-calls.ts";
import { type MultipartUpload, startMultipartUpload } from "./s3-multipart.ts";

export interface WrittenObject {
  bytes: number;
  sha256: string;
  /** Of an object that was sent in parts. */
  composite: string | null;
  /** What the store says it keeps; null where it says nothing. */
  stored: string | null;
}

/** A body that fits into one part is put at once; a longer one is sent in parts, several of them side by side. */
export async function writeToS3(
  calls: S3Calls,
  { key, body, partBytes, signal }: { key: StoreKey; body: ByteSource; partBytes: number; signal: AbortSignal },
): Promise<WrittenObject> {
  const hash = createHash("sha256");
  let bytes = 0;
  let upload: MultipartUpload | undefined;
  // Copied, not collected: a source may give a byte at a time, or use its buffer again.
  let part: Buffer = Buffer.allocUnsafe(Math.min(partBytes, 64 * 1024));
  let filled = 0;
  const sendPart = async () => {
    upload ??= await startMultipartUpload(calls, { key, signal });
    const full = part.subarray(0, filled);
    part = Buffer.allocUnsafe(partBytes);
    filled = 0;
    await upload.send(full);
  };
  try {
    for await (const chunk of pull(body, { signal, idleMilliseconds: calls.limits.idleMilliseconds })) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      for (let offset = 0; offset < chunk.byteLength; ) {
        // Only now: a body that ends with a full part has no empty one after it.
        if (filled === partBytes) await sendPart();
        const piece = chunk.subarray(offset, offset + partBytes - filled);
        part = withRoom(part, { filled, more: piece.byteLength, maxBytes: partBytes });
        part.set(piece, filled);
        filled += piece.byteLength;
        offset += piece.byteLength;
      }
    }
    const sha256 = hash.digest();
    if (upload) {
      await sendPart();
      return { bytes, sha256: sha256.toString("hex"), ...(await upload.complete()) };
    }
    const stored = await put(calls, { key, body: part.subarray(0, filled), sha256, signal });
    return { bytes, sha256: sha256.toString("hex"), composite: null, stored };
  } catch (error) {
    await upload?.abort();
    throw error;
  }
}

// Grown on demand, so that a small object costs a small buffer.
function withRoom(
  part: Buffer,
  { filled, more, maxBytes }: { filled: number; more: number; maxBytes: number },
): Buffer {
  if (filled + more <= part.byteLength) return part;
  const grown = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(2 * part.byteLength, filled + more)));
  part.copy(grown, 0, 0, filled);
  return grown;
}

async function put(
  { client, bucket, call }: S3Calls,
  { key, body, sha256, signal }: { key: StoreKey; body: Buffer; sha256: Buffer; signal: AbortSignal },
): Promise<string | null> {
  const command = new PutObjectCommand({
    Bucket: bucket,
    Key: key,
    Body: body,
    ContentLength: body.byteLength,
    ChecksumSHA256: sha256.toString("base64"),
  });
  const answer = await call(signal, (abortSignal) => client.send(command, { abortSignal }));
  return answer.ChecksumSHA256 ?? null;
}
