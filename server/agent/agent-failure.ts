import { ownProblems, providerCause } from "../protocol/causes.ts";
import { isFields } from "./tool-content.ts";
import type { AgentFailure } from "./translator-state.ts";

const maxOfABody = 200;

/** opencode's error of a session or message: `{ name, data }`. */
export function failureOfAgent(error: unknown): AgentFailure & { terminal: boolean } {
  const { name, data: given } = isFields(error) ? error : {};
  const data = isFields(given) ? given : {};
  const message = messageOf(data) || shorten(String(name ?? "")) || "The agent failed without giving a reason.";
  const requestId = requestIdOf(data.responseHeaders, data);
  return {
    code: codeOf(name, data),
    message,
    ...(requestId ? { requestId } : {}),
    // The conversation is then compacted and goes on.
    terminal: name !== "ContextOverflowError",
  };
}

/** Named by headers of the provider or of opencode, or in the body of an answer. */
export function requestIdOf(headers: unknown, body: unknown): string | undefined {
  const fields = isFields(headers) ? headers : {};
  const inner = isFields(body) ? body : {};
  const found = firstText(
    fields["x-request-id"],
    fields["request-id"],
    fields["x-opencode-request-id"],
    inner.requestID,
    inner.requestId,
    inner.ref,
    isFields(inner.data) ? inner.data.ref : undefined,
  );
  return found ? found.slice(0, 100) : undefined;
}

/** The first line, at most 200 characters: stack traces are not for people. */
export function shorten(text: string): string {
  return text.trim().split("\n", 1)[0]?.slice(0, maxOfABody) ?? "";
}

/** What a provider refused is explained; what Dormouse refused in its place says all there is to say. */
function messageOf(data: Record<string, unknown>): string {
  const said = shorten(firstText(data.message, data.responseBody));
  const { statusCode } = data;
  return typeof statusCode !== "number" || isOwnProblem(data.responseBody) ? said : providerCause(statusCode, said);
}

function isOwnProblem(body: unknown): boolean {
  try {
    const answer: unknown = JSON.parse(String(body));
    return isFields(answer) && isFields(answer.error) && answer.error.by === ownProblems;
  } catch {
    return false;
  }
}

function codeOf(name: unknown, data: Record<string, unknown>): string {
  if (name === "MessageAbortedError") return "aborted";
  if (name === "ContextOverflowError") return "context-overflow";
  return typeof data.statusCode === "number" ? String(data.statusCode) : "agent-error";
}

function firstText(...values: unknown[]): string {
  return values.find((value): value is string => typeof value === "string" && value.trim() !== "") ?? "";
}
