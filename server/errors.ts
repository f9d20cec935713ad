import { type ErrorKind, statusByKind } from "./protocol/error-kinds.ts";

/**
 * The one error taxonomy. An AppError carries a message that is safe to show; what must
 * stay inside travels as `cause` and reaches the log under `reference` only.
 */
export type { ErrorKind };

/** Why somebody else does what was wanted, or nobody can any more: whoever hears it changes nothing and goes. */
export type Refusal = "lease-superseded" | "lease-elsewhere" | "turn-moved" | "no-session";

/** What a turn that fails with the error says as its code; an answer of opencode has its status. */
export type FailureCode = "wake-failed" | "stream-error" | "isolation-unavailable" | "snapshots-missing" | `${number}`;

export interface ErrorDetails {
  cause?: unknown;
  refusal?: Refusal | undefined;
  code?: FailureCode | undefined;
  /** opencode's, or its provider's. */
  requestId?: string | undefined;
}

export interface ErrorBody {
  error: { kind: ErrorKind; message: string; reference?: string };
}

// main.ts and the bundled routes hold two copies of this module: the brand is what they share.
const brand = Symbol.for("dormouse.app-error");

export class AppError extends Error {
  readonly [brand] = true;
  readonly kind: ErrorKind;
  readonly refusal: Refusal | undefined;
  readonly code: FailureCode | undefined;
  readonly requestId: string | undefined;
  reference: string | undefined;

  constructor(kind: ErrorKind, message: string, { cause, refusal, code, requestId }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AppError";
    this.kind = kind;
    this.refusal = refusal;
    this.code = code;
    this.requestId = requestId;
  }
}

export function isAppError(value: unknown): value is AppError {
  return typeof value === "object" && value !== null && brand in value;
}

/** That refusal; without one, any. */
export function isRefused(value: unknown, refusal?: Refusal): value is AppError & { refusal: Refusal } {
  if (!isAppError(value) || value.refusal === undefined) return false;
  return refusal === undefined || value.refusal === refusal;
}

export function isErrorKind(value: string): value is ErrorKind {
  return Object.hasOwn(statusByKind, value);
}

export function statusOf(kind: ErrorKind): number {
  return statusByKind[kind];
}

export function errorBody(error: AppError): ErrorBody {
  const { kind, message, reference } = error;
  return { error: reference ? { kind, message, reference } : { kind, message } };
}
