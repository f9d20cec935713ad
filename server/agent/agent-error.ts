import { AppError, type ErrorKind, isAppError } from "../errors.ts";
import { causes } from "../protocol/causes.ts";
import { sidecarProblem } from "../protocol/sidecar.ts";
import { codedRefusal } from "../sandboxes/index.ts";
import { requestIdOf, shorten } from "./agent-failure.ts";
import { isFields } from "./tool-content.ts";
import type { AgentFailure } from "./translator-state.ts";

const kindByStatus: Record<number, ErrorKind> = { 404: "not-found", 409: "conflict", 503: "unavailable" };

/** An answer of opencode that is not what was asked for. `what` is what was tried, as in "The agent could not …". */
export function createAgentError(input: {
  what: string;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}): AppError {
  const body = parse(input.body);
  const problem = sidecarProblem.safeParse(body);
  // Of the sidecar itself: opencode's own errors have a name, not a kind.
  if (problem.success) {
    const { error } = problem.data;
    return codedRefusal(error) ?? new AppError(kindByStatus[input.status] ?? "upstream", error.message);
  }
  const said = shorten(messageOf(body) ?? input.body);
  const words = said.replace(/[.\s]+$/, "");
  const message = `The agent could not ${input.what}.${words ? ` It said: “${words}”.` : ""} Try again in a moment.`;
  return new AppError(kindByStatus[input.status] ?? "upstream", message, {
    code: `${input.status}`,
    requestId: requestIdOf(input.headers, body),
  });
}

/** opencode's own answer: of everything else nobody knows whether it was heard. */
export const isAgentAnswer = (error: unknown) =>
  isAppError(error) && (error.kind === "not-found" || /^\d+$/.test(error.code ?? ""));

/** What a turn says about an error of the client or of the event bus. */
export function failureOfError(error: unknown): AgentFailure {
  if (!isAppError(error)) return { code: "internal", message: causes.internal.message };
  const { kind, message, code, requestId } = error;
  return {
    code: code ?? (kind === "timeout" ? "timeout" : "agent-error"),
    message,
    ...(requestId ? { requestId } : {}),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** opencode answers `{ name, data: { message } }`, or `{ message }`. */
function messageOf(body: unknown): string | null {
  if (!isFields(body)) return null;
  const message = isFields(body.data) ? body.data.message : body.message;
  return typeof message === "string" ? message : null;
}
