import { type CauseName, causes } from "./protocol/causes.ts";
import { type ErrorKind, statusByKind } from "./protocol/error-kinds.ts";

/**
 * The one error taxonomy. An AppError carries a message that is safe to show; what must
 * stay inside travels as `cause` and reaches the log under `reference` only.
 */
export type { ErrorKind };

/** Why somebody else does what was wanted, or nobody can any more: whoever hears it changes nothing and goes. */
export type Refusal = "lease-superseded" | "lease-elsewhere" | "turn-moved" | "no-session" | "operation-over";

/** What a turn that fails with the error says as its code; an answer of opencode has its status. */
export type FailureCode =
  | "wake-failed"
  | "stream-error"
  | "isolation-unavailable"
  | "snapshots-missing"
  | "database"
  | "internal"
  | `${number}`;

export interface ErrorDetails {
  cause?: unknown;
  refusal?: Refusal | undefined;
  /** What broke, of the table in protocol/causes.ts. */
  fault?: CauseName | undefined;
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
  readonly fault: CauseName | undefined;
  readonly code: FailureCode | undefined;
  readonly requestId: string | undefined;
  reference: string | undefined;

  constructor(kind: ErrorKind, message: string, { cause, refusal, fault, code, requestId }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AppError";
    this.kind = kind;
    this.refusal = refusal;
    this.fault = fault;
    this.code = code;
    this.requestId = requestId;
  }
}

/** Something broke that the table of causes has words for. */
export function faultError(fault: CauseName, details: Omit<ErrorDetails, "fault"> = {}): AppError {
  const { kind, message } = causes[fault];
  return new AppError(kind, message, { ...details, fault });
}

/**
 * For whoever is answered. What nobody expected, and what an admin alone can use of a failure, is left out: it is in the
 * log, under the reference that `report` gives.
 */
export function toReportedError(error: unknown, report: (error: unknown) => string): AppError {
  const known = isAppError(error) ? error : faultError("internal", { cause: error });
  const isHidden = known.cause !== undefined && statusByKind[known.kind] >= 500;
  if (isHidden) known.reference ??= report(error);
  return known;
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
