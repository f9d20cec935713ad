import { createHash } from "node:crypto";
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { AppError, faultError } from "../../errors.ts";
import type { StoreKey } from "../store-key.ts";
import type { S3Calls } from "./s3-calls.ts";
import { isAbsentUpload } from "./s3-error.ts";

const maxParts = 10_000;
const partsInFlight = 3;

export interface MultipartUpload {
  /** Resolves when there is room for a next part; a failed earlier part is thrown here or in `complete`. */
  send(part: Buffer): Promise<void>;
  complete(): Promise<{ composite: string; stored: string | null }>;
  /** Waits for what is under way, so that no part arrives behind its back. What it cannot remove, a sweep does. */
  abort(): Promise<void>;
}

/**
 * Nothing is visible before `complete`. Starting and completing are not cut short by the caller's signal: cut in
 * the middle, an upload would exist whose id nobody knows, or an object of which nobody knows whether it exists.
 */
export async function startMultipartUpload(
  { client, bucket, limits, call }: S3Calls,
  { key, signal }: { key: StoreKey; signal: AbortSignal },
): Promise<MultipartUpload> {
  const unheard = new AbortController().signal;
  const target = { Bucket: bucket, Key: key };
  const created = await call(unheard, (abortSignal) =>
    client.send(new CreateMultipartUploadCommand({ ...target, ChecksumAlgorithm: "SHA256" }), { abortSignal }),
  );
  if (!created.UploadId) throw faultError("store-failed", { cause: new Error("An upload without an id") });
  const upload = { ...target, UploadId: created.UploadId };
  const stopping = new AbortController();
  const sending = AbortSignal.any([signal, stopping.signal]);
  const parts: CompletedPart[] = [];
  const digests: Buffer[] = [];
  const inFlight = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;

  async function sendPart(number: number, body: Buffer, digest: Buffer): Promise<void> {
    const checksum = digest.toString("base64");
    const part = { PartNumber: number, ContentLength: body.byteLength, ChecksumSHA256: checksum };
    const command = new UploadPartCommand({ ...upload, ...part, Body: body });
    const answer = await call(sending, (abortSignal) => client.send(command, { abortSignal }));
    parts[number - 1] = { PartNumber: number, ETag: answer.ETag, ChecksumSHA256: checksum };
  }

  return {
    async send(body) {
      const number = digests.length + 1;
      if (number > maxParts) throw new AppError("too-large", "This is too large for the file store");
      const digest = createHash("sha256").update(body).digest();
      digests.push(digest);
      const sent = sendPart(number, body, digest)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => inFlight.delete(sent));
      inFlight.add(sent);
      if (inFlight.size >= partsInFlight) await Promise.race(inFlight);
      if (failure) throw failure.error;
    },
    async complete() {
      await Promise.all(inFlight);
      if (failure) throw failure.error;
      signal.throwIfAborted();
      const composite = `${createHash("sha256").update(Buffer.concat(digests)).digest("base64")}-${digests.length}`;
      const command = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: parts } });
      try {
        const answer = await call(
          unheard,
          (abortSignal) => client.send(command, { abortSignal }),
          limits.finishMilliseconds,
        );
        return { composite, stored: answer.ChecksumSHA256 ?? null };
      } catch (error) {
        // A repeated completion may find the upload gone because the first one succeeded unheard.
        const head = new HeadObjectCommand({ ...target, ChecksumMode: "ENABLED" });
        const found = await call(unheard, (abortSignal) => client.send(head, { abortSignal })).catch(() => null);
        if (found?.ChecksumSHA256 !== undefined && withoutCount(found.ChecksumSHA256) === withoutCount(composite)) {
          return { composite, stored: found.ChecksumSHA256 };
        }
        throw error;
      }
    },
    async abort() {
      stopping.abort(new AppError("internal", "The upload was abandoned"));
      await Promise.all(inFlight);
      const command = new AbortMultipartUploadCommand(upload);
      await call(unheard, (abortSignal) =>
        client.send(command, { abortSignal }).catch((error: unknown) => {
          if (!isAbsentUpload(error)) throw error;
        }),
      ).catch(() => {});
    },
  };
}

/** Some stores leave out the number of parts that follows the digest. */
export function withoutCount(checksum: string): string {
  return checksum.replace(/-\d+$/, "");
}
