import type { Readable } from "node:stream";
import { AppError, type ErrorKind, faultError, isAppError, isErrorKind } from "../errors.ts";
import { causes } from "../protocol/causes.ts";
import { agentFrozenCode, sidecarProblem, supersededCode } from "../protocol/sidecar.ts";

const maxWholeBytes = 64 * 1024 * 1024;

export async function collect(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxWholeBytes)
      throw faultError("sandbox-answer", { cause: new Error(`More than ${maxWholeBytes} bytes`) });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const kindByStatus: Record<number, ErrorKind> = { 404: "not-found", 409: "conflict", 503: "unavailable" };

/** The sidecar's own refusal, or else the agent's. A refused signature is our trouble, not that of whoever asked. */
export function refusal(status: number, text: string): AppError {
  const problem = sidecarProblem.safeParse(parsed(text)).data?.error;
  const known = problem && codedRefusal(problem);
  if (known) return known;
  if (problem && isErrorKind(problem.kind) && problem.kind !== "unauthenticated") {
    return new AppError(problem.kind, problem.message);
  }
  const cause = new Error(`HTTP ${status}: ${text.slice(0, 200)}`);
  if (problem) return faultError("sandbox-refused", { cause });
  const { kind, message } = causes["sandbox-answer"];
  return new AppError(kindByStatus[status] ?? kind, message, { cause, fault: "sandbox-answer" });
}

/** Null for one that its kind says enough of. */
export function codedRefusal({ code, message }: { code?: string | undefined; message: string }): AppError | null {
  // Whoever gets this leaves everything to the server that has taken over.
  if (code === supersededCode) return new AppError("conflict", message, { refusal: supersededCode });
  if (code === agentFrozenCode) return faultError("agent-frozen");
  return null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const timeouts = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT"]);

export function translate(error: unknown, signal: AbortSignal): unknown {
  // Not what the connection says when it is closed with it.
  if (signal.aborted) return signal.reason;
  if (isAppError(error)) return error;
  const code = (error as { code?: string }).code;
  return faultError(code && timeouts.has(code) ? "sandbox-late" : "sandbox-away", { cause: error });
}
