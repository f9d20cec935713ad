import { type ErrorKind, statusByKind } from "./protocol/error-kinds.ts";

/**
 * The one error taxonomy. An AppError carries a message that is safe to show; what must
 * stay inside travels as `cause` and reaches the log under `reference` only.
 */
export type { ErrorKind };

export interface ErrorBody {
  error: { kind: ErrorKind; message: string; reference?: string };
}

// main.ts and the bundled routes hold two copies of this module: the brand is what they share.
const brand = Symbol.for("dormouse.app-error");

export class AppError extends Error {
  readonly [brand] = true;
  readonly kind: ErrorKind;
  reference: string | undefined;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "AppError";
    this.kind = kind;
  }
}

export function isAppError(value: unknown): value is AppError {
  return typeof value === "object" && value !== null && brand in value;
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
