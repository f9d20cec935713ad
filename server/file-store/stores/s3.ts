import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";
import { AppError, faultError } from "../../errors.ts";
import { boundedWrite, toByteStream } from "../byte-streams.ts";
import {
  type ByteSource,
  defaultLimits,
  type ExpectedObject,
  type FileStore,
  type ReadOptions,
  type StoredEntry,
  type StoredObject,
  type StoreLimits,
  type Verdict,
} from "../file-store.ts";
import { findStoreKey, type StoreKey } from "../store-key.ts";
import { createS3Calls } from "./s3-calls.ts";
import { isAbsentKey } from "./s3-error.ts";
import { withoutCount } from "./s3-multipart.ts";
import { sweepUploads } from "./s3-sweep.ts";
import { writeToS3 } from "./s3-write.ts";

export interface S3StoreOptions {
  bucket: string;
  /** Null is the vendor's own. */
  endpoint: string | null;
  region: string;
  pathStyle: boolean;
  /** Null leaves them to where the server runs: a role of the machine or the pod. */
  credentials: { accessKeyId: string; secretAccessKey: string } | null;
  limits?: Partial<StoreLimits> | undefined;
  /** From here on a body is sent in parts, of this size; the least that S3 takes is 5 MiB. */
  partBytes?: number;
  /** S3 copies no more than this by itself. */
  maxCopyBytes?: number;
}

/**
 * An object is an object of the bucket, which belongs to Dormouse alone. Each body carries its SHA-256, which the
 * store checks before anything is visible, and keeps; of a body sent in parts it keeps the composite one instead.
 */
export function createS3Store(options: S3StoreOptions): FileStore {
  const { bucket, partBytes = 8 * 1024 * 1024, maxCopyBytes = 5 * 1024 ** 3 } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const client = new S3Client({
    region: options.region,
    forcePathStyle: options.pathStyle,
    ...(options.endpoint ? { endpoint: options.endpoint } : {}),
    ...(options.credentials ? { credentials: options.credentials } : {}),
    maxAttempts: 3,
    // Ours are given with each body; others are not known to every store.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { connectionTimeout: Math.min(5000, limits.callMilliseconds) },
  });
  const calls = createS3Calls({ client, bucket, limits });
  const { call, find } = calls;

  async function send(key: StoreKey, body: ByteSource, signal: AbortSignal): Promise<StoredObject> {
    const { bytes, sha256, composite, stored } = await writeToS3(calls, { key, body, partBytes, signal });
    const object = { key, bytes, sha256, checksum: composite };
    const verdict = (stored === null ? null : compare(stored, object)) ?? (await verify(key, object, signal));
    if (verdict === "intact") return object;
    throw faultError("store-damaged", { cause: new Error("Other bytes than those written") });
  }

  async function read(key: StoreKey, { signal, range }: ReadOptions) {
    if (range && (range.offset < 0 || (range.length ?? 1) < 1)) {
      throw new AppError("invalid-input", "That range lies outside the object");
    }
    const last = range?.length === undefined ? "" : range.offset + range.length - 1;
    const command = new GetObjectCommand({
      Bucket: bucket,
      Key: key,
      ...(range ? { Range: `bytes=${range.offset}-${last}` } : {}),
    });
    const found = await find(signal, async (abortSignal) => {
      const answer = await client.send(command, { abortSignal });
      const body = answer.Body as Readable;
      // An answer that comes too late has nobody left to read it.
      if (abortSignal.aborted) body.destroy();
      return body;
    });
    if (!found) return null;
    found.on("error", () => {});
    const chunks = found[Symbol.asyncIterator]();
    return toByteStream({
      signal,
      async next() {
        const { value, done } = await call(signal, () => chunks.next(), limits.idleMilliseconds);
        return done ? null : (value as Uint8Array);
      },
      async close() {
        found.destroy();
      },
    });
  }

  async function verify(key: StoreKey, expected: ExpectedObject, signal: AbortSignal): Promise<Verdict> {
    const command = new HeadObjectCommand({ Bucket: bucket, Key: key, ChecksumMode: "ENABLED" });
    const found = await find(signal, (abortSignal) => client.send(command, { abortSignal }));
    if (!found) return "missing";
    if (found.ContentLength !== expected.bytes) return "damaged";
    const verdict = found.ChecksumSHA256 === undefined ? null : compare(found.ChecksumSHA256, expected);
    return verdict ?? reread(key, expected, signal);
  }

  // For a store that keeps no checksum, or one that says nothing about the whole.
  async function reread(key: StoreKey, expected: ExpectedObject, signal: AbortSignal): Promise<Verdict> {
    const body = await read(key, { signal });
    if (!body) return "missing";
    const hash = createHash("sha256");
    for await (const chunk of body) hash.update(chunk);
    return hash.digest("hex") === expected.sha256 ? "intact" : "damaged";
  }

  async function stat(key: StoreKey, signal: AbortSignal): Promise<StoredEntry | null> {
    const command = new HeadObjectCommand({ Bucket: bucket, Key: key });
    const found = await find(signal, (abortSignal) => client.send(command, { abortSignal }));
    return found && { key, bytes: found.ContentLength ?? 0, modifiedAt: found.LastModified ?? new Date(0) };
  }

  const write: FileStore["write"] = (key, body, signal) =>
    boundedWrite({ body, signal, milliseconds: limits.writeMilliseconds }, (inner) => send(key, body, inner));

  return {
    write,
    read,
    verify,
    stat,
    async *list(folder, signal) {
      const prefix = folder ? { Prefix: `${folder}/` } : {};
      let token: string | undefined;
      do {
        const command = new ListObjectsV2Command({ Bucket: bucket, ...prefix, ContinuationToken: token });
        const page = await call(signal, (abortSignal) => client.send(command, { abortSignal }));
        for (const { Key = "", Size = 0, LastModified = new Date(0) } of page.Contents ?? []) {
          const key = findStoreKey(Key);
          if (key) yield { key, bytes: Size, modifiedAt: LastModified };
        }
        token = page.IsTruncated ? page.NextContinuationToken : undefined;
      } while (token);
    },
    async copy(from, to, signal) {
      const source = await stat(from, signal);
      // S3 refuses to copy an object onto itself.
      if (!source || from === to) return source !== null;
      if (source.bytes > maxCopyBytes) {
        const body = await read(from, { signal });
        if (body) await write(to, body, signal);
        return body !== null;
      }
      // Keys and buckets have no character that would have to be escaped here.
      const CopySource = `${bucket}/${from}`;
      const command = new CopyObjectCommand({ Bucket: bucket, Key: to, CopySource, ChecksumAlgorithm: "SHA256" });
      const copied = await call(
        signal,
        async (abortSignal) => {
          try {
            return await client.send(command, { abortSignal });
          } catch (error) {
            if (isAbsentKey(error)) return null;
            throw error;
          }
        },
        limits.finishMilliseconds,
      );
      return copied !== null;
    },
    async remove(key, signal) {
      const command = new DeleteObjectCommand({ Bucket: bucket, Key: key });
      await find(signal, (abortSignal) => client.send(command, { abortSignal }));
    },
    sweep: (bounds) => sweepUploads(calls, bounds),
    async close() {
      client.destroy();
    },
  };
}

/** Null when only the bytes can tell: a composite one depends on where the parts were cut. */
function compare(stored: string, expected: ExpectedObject): Verdict | null {
  if (stored === Buffer.from(expected.sha256, "hex").toString("base64")) return "intact";
  if (expected.checksum && withoutCount(stored) === withoutCount(expected.checksum)) return "intact";
  return expected.checksum || /-\d+$/.test(stored) ? null : "damaged";
}
