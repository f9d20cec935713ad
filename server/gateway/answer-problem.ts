import type { IncomingMessage, ServerResponse } from "node:http";
import { isAppError, statusOf } from "../errors.ts";
import type { ProviderKind } from "../models/index.ts";
import { causes, ownProblems } from "../protocol/causes.ts";
import type { AccessRefusal } from "./create-callers.ts";

export interface Problem {
  status: number;
  /** For the person: opencode shows it as it is. */
  message: string;
  type: string;
  code: string;
}

/** In the shape in which the provider itself would have refused, since the agent's SDK reads no other. */
export function answerProblem(response: ServerResponse, kind: ProviderKind, problem: Problem): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const { status, message, type, code } = problem;
  const error = { message, type, code, by: ownProblems };
  const body = JSON.stringify(kind === "anthropic" ? { type: "error", error } : { error });
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" }).end(body);
  discardRest(response.req);
}

// A caller that still sends would lose the answer if its connection were cut now; so it may go on for a while.
function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const timer = setTimeout(() => request.destroy(), 10_000);
  request.once("close", () => clearTimeout(timer)).resume();
}

export const problems = {
  noProvider: {
    status: 404,
    message:
      "This model's provider no longer exists. Choose another model, or add the provider again in Settings → Models.",
    type: "not_found_error",
    code: "provider_not_found",
  },
  tooLarge: {
    status: 413,
    message: "The request to the model is larger than 50 MB. Start a new session or attach less.",
    type: "invalid_request_error",
    code: "request_too_large",
  },
  stopping: {
    status: 503,
    message: "Dormouse is restarting. The model will be asked again in a moment.",
    type: "server_error",
    code: "gateway_stopping",
  },
  internal: {
    status: 500,
    message: causes.internal.message,
    type: "server_error",
    code: "gateway_failed",
  },
} as const satisfies Record<string, Problem>;

export function noAccess(refusal: AccessRefusal): Problem {
  return { status: 401, message: causes[refusal].message, type: "authentication_error", code: "sandbox_token_invalid" };
}

/** An error of the server's own. */
export function problemOf(error: unknown): Problem {
  if (!isAppError(error)) return problems.internal;
  const { kind, message } = error;
  return { status: statusOf(kind), message, type: "server_error", code: "gateway_failed" };
}

export function notOffered(method: string, path: string): Problem {
  return {
    status: 404,
    message: `Dormouse does not forward ${method} ${path} to this provider.`,
    type: "not_found_error",
    code: "path_not_offered",
  };
}
