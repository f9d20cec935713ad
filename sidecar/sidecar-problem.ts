import { type CauseName, causes } from "../server/protocol/causes.ts";
import { type ErrorKind, statusByKind } from "../server/protocol/error-kinds.ts";

/** A refusal with a text that may be shown. */
export class Problem extends Error {
  readonly kind: ErrorKind;
  /** Where the kind alone would not tell what happened. */
  readonly code: string | undefined;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown; code?: string }) {
    super(message, options);
    this.name = "Problem";
    this.kind = kind;
    this.code = options?.code;
  }

  get status(): number {
    return statusByKind[this.kind];
  }
}

/** Something broke that the table of causes has words for. */
export function fault(name: CauseName, cause: unknown): Problem {
  return new Problem(causes[name].kind, causes[name].message, { cause });
}

export function problemBody(problem: { kind: ErrorKind; message: string; code?: string | undefined }): string {
  const { kind, message, code } = problem;
  return JSON.stringify({ error: { kind, message, ...(code && { code }) } });
}

/** Anything thrown, as a refusal; what was not foreseen keeps its text for the log only. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return fault("sandbox-failed", error);
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
