/** A refusal with a text that may be shown. The kinds are those of the server's own errors. */
const statusByKind = {
  "invalid-input": 400,
  unauthenticated: 401,
  forbidden: 403,
  "not-found": 404,
  conflict: 409,
  "too-large": 413,
  "limit-exceeded": 429,
  internal: 500,
  upstream: 502,
  unavailable: 503,
  timeout: 504,
} as const;

export type ProblemKind = keyof typeof statusByKind;

export class Problem extends Error {
  readonly kind: ProblemKind;
  /** Where the kind alone would not tell what happened. */
  readonly code: string | undefined;

  constructor(kind: ProblemKind, message: string, options?: { cause?: unknown; code?: string }) {
    super(message, options);
    this.name = "Problem";
    this.kind = kind;
    this.code = options?.code;
  }

  get status(): number {
    return statusByKind[this.kind];
  }
}

export function problemBody(problem: { kind: ProblemKind; message: string; code?: string | undefined }): string {
  const { kind, message, code } = problem;
  return JSON.stringify({ error: { kind, message, ...(code && { code }) } });
}

/** Anything thrown, as a refusal; what was not foreseen keeps its text for the log only. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem("internal", "The sandbox's sidecar failed on this request.", { cause: error });
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
