/** The kinds of errors that server and sidecar answer with, and the HTTP status of each. */
export const statusByKind = {
  "invalid-input": 400,
  unauthenticated: 401,
  forbidden: 403,
  "not-found": 404,
  conflict: 409,
  "too-large": 413,
  "key-reused": 422,
  "limit-exceeded": 429,
  internal: 500,
  upstream: 502,
  unavailable: 503,
  timeout: 504,
} as const;

export type ErrorKind = keyof typeof statusByKind;
