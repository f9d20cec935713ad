import { HeadBucketCommand, type S3Client } from "@aws-sdk/client-s3";
import { bounded } from "../../lib/bounded.ts";
import type { StoreLimits } from "../file-store.ts";
import { absentBucket, isAbsentKey, lateStore, s3Error } from "./s3-error.ts";

export interface S3Calls {
  client: S3Client;
  bucket: string;
  limits: StoreLimits;
  /** Bounds a call and translates what it throws. */
  call<Result>(
    signal: AbortSignal,
    work: (abortSignal: AbortSignal) => Promise<Result>,
    milliseconds?: number,
  ): Promise<Result>;
  /** The same for one key; null when it is absent, though never because the bucket is. */
  find<Result>(signal: AbortSignal, work: (abortSignal: AbortSignal) => Promise<Result>): Promise<Result | null>;
}

export function createS3Calls({ client, bucket, limits }: Pick<S3Calls, "client" | "bucket" | "limits">): S3Calls {
  const call: S3Calls["call"] = async (signal, work, milliseconds = limits.callMilliseconds) => {
    try {
      return await bounded(work, { signal, milliseconds, late: lateStore });
    } catch (error) {
      throw s3Error(error, signal);
    }
  };
  async function requireBucket(signal: AbortSignal): Promise<void> {
    const command = new HeadBucketCommand({ Bucket: bucket });
    await call(signal, (abortSignal) =>
      client.send(command, { abortSignal }).catch((error: unknown) => {
        throw isAbsentKey(error) ? absentBucket(error) : error;
      }),
    );
  }

  return {
    client,
    bucket,
    limits,
    call,
    async find(signal, work) {
      const found = await call(signal, (abortSignal) =>
        work(abortSignal).catch((error: unknown) => {
          if (isAbsentKey(error)) return null;
          throw error;
        }),
      );
      if (found === null) await requireBucket(signal);
      return found;
    },
  };
}
