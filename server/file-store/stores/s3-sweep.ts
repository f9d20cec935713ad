import { AbortMultipartUploadCommand, ListMultipartUploadsCommand } from "@aws-sdk/client-s3";
import { findStoreKey } from "../store-key.ts";
import type { S3Calls } from "./s3-calls.ts";
import { isAbsentUpload } from "./s3-error.ts";

/** Gives up the unfinished uploads of writers that are gone. */
export async function sweepUploads(
  { client, bucket, call }: S3Calls,
  { olderThanMilliseconds, signal }: { olderThanMilliseconds: number; signal: AbortSignal },
): Promise<number> {
  const before = Date.now() - olderThanMilliseconds;
  let removed = 0;
  let markers: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
  while (markers) {
    // Without a prefix: MinIO lists by none, or by a whole key.
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ Bucket: bucket, ...markers });
    const page = await call(signal, (abortSignal) => client.send(command, { abortSignal }));
    for (const { Key = "", UploadId, Initiated } of page.Uploads ?? []) {
      if (!UploadId || !findStoreKey(Key) || !Initiated || Initiated.getTime() > before) continue;
      const abort = new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId });
      await call(signal, (abortSignal) =>
        client.send(abort, { abortSignal }).catch((error: unknown) => {
          if (!isAbsentUpload(error)) throw error;
        }),
      );
      removed++;
    }
    const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
    markers = IsTruncated && KeyMarker ? { KeyMarker, ...(UploadIdMarker ? { UploadIdMarker } : {}) } : undefined;
  }
  return removed;
}
