import { AppError, faultError, isAppError } from "../../errors.ts";

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

/** Neither a file nor a folder on the way to it. */
export const isAbsent = (error: unknown) => ["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "");

/** The path stays inside: it travels as cause and reaches the log alone. */
export function filesystemError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (isAppError(error)) return error;
  switch (codeOf(error)) {
    case "ENOSPC":
    case "EDQUOT":
      return faultError("store-full", { cause: error });
    case "EFBIG":
      return new AppError("too-large", "This is too large for the file store's disk", { cause: error });
    case "EISDIR":
    case "ENOTEMPTY":
    case "EEXIST":
    case "ENOTDIR":
      return new AppError("conflict", "That key is a folder of the file store, or lies below an object", {
        cause: error,
      });
    default:
      return faultError("store-away", { cause: error });
  }
}

export const lateDisk = () => faultError("store-late");
