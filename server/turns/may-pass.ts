import { type ErrorKind, type FailureCode, isAppError } from "../errors.ts";

const passingKinds: ReadonlySet<ErrorKind> = new Set(["unavailable", "timeout", "upstream", "internal"]);

/** Somebody has to do something about these first. */
const lastingCodes: ReadonlySet<FailureCode> = new Set(["isolation-unavailable", "snapshots-missing"]);

/**
 * Whether what kept a turn from the agent may be over in a while, so that the turn waits and tries again; else it
 * fails at once. The one place that decides. An answer of opencode, which has its status as code, is no failure of
 * what lies between: asked again, it would be the same.
 */
export function mayPass(error: unknown): boolean {
  // The database, or something that nobody foresaw.
  if (!isAppError(error)) return true;
  const { kind, code } = error;
  if (code && (lastingCodes.has(code) || /^\d+$/.test(code))) return false;
  return passingKinds.has(kind);
}
