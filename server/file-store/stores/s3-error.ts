import { AppError, faultError, isAppError } from "../../errors.ts";
import type { CauseName } from "../../protocol/causes.ts";

const refusals = ["AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "Forbidden"];
const mismatches = ["BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"];
const full = ["XMinioStorageFull", "InsufficientStorage", "QuotaExceeded"];

/** What the vendor throws ends here; its words travel as cause and reach the log alone. */
export function s3Error(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (isAppError(error)) return error;
  if (error instanceof Error && error.name === "NoSuchBucket") return absentBucket(error);
  if (error instanceof Error && (error.name === "InvalidRange" || statusOf(error) === 416)) {
    return new AppError("invalid-input", "That range lies outside the object", { cause: error });
  }
  return faultError(faultOf(error), { cause: error });
}

function faultOf(error: unknown): CauseName {
  const status = statusOf(error);
  const name = error instanceof Error ? error.name : "";
  if (mismatches.includes(name)) return "store-damaged";
  if (full.includes(name) || status === 507) return "store-full";
  if (refusals.includes(name) || status === 401 || status === 403) return "store-refused";
  // No status: the request never got an answer.
  return status === undefined || status >= 500 || status === 429 ? "store-away" : "store-failed";
}

/** Of a HEAD there is no body to tell an absent key from an absent bucket. */
export const isAbsentKey = (error: unknown) =>
  statusOf(error) === 404 && error instanceof Error && !["NoSuchBucket", "NoSuchUpload"].includes(error.name);

export const isAbsentUpload = (error: unknown) => error instanceof Error && error.name === "NoSuchUpload";

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;
}

export const absentBucket = (cause: unknown) => faultError("store-missing", { cause });

export const lateStore = () => faultError("store-late");
