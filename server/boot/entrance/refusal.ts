import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, type ErrorKind, errorBody, statusOf } from "../../errors.ts";

/** Why a request is not let in, in the one shape of errors for programs and as a plain page for people. */
export interface Refusal {
  kind: ErrorKind;
  message: string;
  /** Where HTTP has a word of its own for it. */
  status?: number;
}

export const refusal = (kind: ErrorKind, message: string, status?: number): Refusal =>
  status === undefined ? { kind, message } : { kind, message, status };

/**
 * Answers and closes the connection: what still comes of the request is dropped, for a moment, since a caller who is cut
 * off while sending would lose the answer.
 */
export function refuseRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { refused, lingerMilliseconds }: { refused: Refusal; lingerMilliseconds: number },
): void {
  const { type, body } = render(refused, request.headers.accept ?? "");
  response.writeHead(refused.status ?? statusOf(refused.kind), {
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    connection: "close",
  });
  if (request.complete || !hasBody(request)) return void response.end(body);
  response.write(body);
  const end = () => response.end();
  const timer = setTimeout(end, lingerMilliseconds);
  response.once("close", () => clearTimeout(timer));
  request.push = (chunk: unknown) => {
    if (chunk === null) end();
    return true;
  };
}

/** The same where there is no response object: upgrades, and requests that could not be read. */
export function refuseSocket(
  socket: Duplex,
  { refused, lingerMilliseconds }: { refused: Refusal; lingerMilliseconds: number },
): void {
  const { type, body } = render(refused, "");
  const status = refused.status ?? statusOf(refused.kind);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  const timer = setTimeout(() => socket.destroy(), lingerMilliseconds);
  socket.once("close", () => clearTimeout(timer));
  socket.once("end", () => socket.destroy()).resume();
}

export function hasBody({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function render({ kind, message }: Refusal, accept: string): { type: string; body: string } {
  if (accept.includes("text/html")) return { type: "text/plain; charset=utf-8", body: `${message}\n` };
  return { type: "application/json", body: JSON.stringify(errorBody(new AppError(kind, message))) };
}
