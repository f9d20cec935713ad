import { AppError, isAppError } from "../../errors.ts";

const refusals = ["AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "Forbidden"];
const mismatches = ["BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"];
const full = ["XMinioStorageFull", "InsufficientStorage", "QuotaExceeded"];

/** What the vendor throws ends here; its words travel as cause and reach the log alone. */
export function s3Error(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (isAppError(error)) return error;
  if (error instanceof Error && error.name === "NoSuchBucket") return absentBucket(error);
  return new AppError(...translate(error), { cause: error });
}

function translate(error: unknown): ["unavailable" | "upstream" | "invalid-input", string] {
  const status = statusOf(error);
  const name = error instanceof Error ? error.name : "";
  if (name === "InvalidRange" || status === 416) return ["invalid-input", "That range lies outside the object"];
  if (mismatches.includes(name)) return ["upstream", "The file store received different bytes from those sent"];
  if (full.includes(name) || status === 507) return ["unavailable", "The file store is full"];
  if (refusals.includes(name) || status === 401 || status === 403) {
    return ["unavailable", "The file store refuses the server's credentials"];
  }
  // No status: the request never got an answer.
  if (status === undefined || status >= 500 || status === 429)
    return ["unavailable", "The file store cannot be reached"];
  return ["upstream", "The file store refused a request"];
}

/** Of a HEAD there is no body to tell an absent key from an absent bucket. */
export const isAbsentKey = (error: unknown) =>
  statusOf(error) === 404 && error instanceof Error && !["NoSuchBucket", "NoSuchUpload"].includes(error.name);

export const isAbsentUpload = (error: unknown) => error instanceof Error && error.name === "NoSuchUpload";

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;
}

export const absentBucket = (cause: unknown) =>
  new AppError("unavailable", "The file store's bucket does not exist", { cause });

export const lateStore = () => new AppError("unavailable", "The file store did not answer in time");
