import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { hashBody, proveAnswer, signatureHeaders, streamedBody } from "../../server/protocol/request-signature.ts";
import { Problem, problemBody } from "../sidecar-problem.ts";
import { maxBodyBytes, readBody } from "./read-body.ts";
import { readUpload, type StreamIdentity } from "./read-upload.ts";
import { sendStream } from "./send-stream.ts";

/** One request at the door with its answer, which carries the boot's proof however it is given. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  query: URLSearchParams;
  /** The query as it came, with its question mark. */
  search: string;
  /** Aborted when whoever asked has gone. */
  signal: AbortSignal;
  /** The hash that the body was signed with. */
  bodyHash: string;
  body(maxBytes?: number): Promise<Buffer>;
  /** A streamed body; throws at its end unless its trailer is right. */
  upload(): AsyncGenerator<Buffer>;
  json(status: number, value: unknown): void;
  /** Without a body. */
  empty(status: 204 | 304): void;
  problem(problem: Problem): void;
  /** Sends the head; the caller then writes the body to `response`. */
  stream(status: number, headers: OutgoingHttpHeaders): void;
  /** Sends all of it with a trailer that proves it; cut, without one, when the source fails. Resolves when it is sent. */
  download(headers: OutgoingHttpHeaders, source: AsyncIterable<Buffer>, note: () => string): Promise<void>;
}

const unreadDeadline = 5_000;

export interface ExchangeOptions {
  request: IncomingMessage;
  response: ServerResponse;
  nonce: string | null;
  bodyHash: string;
  bootSecret: Uint8Array;
  identity: StreamIdentity;
}

export function createExchange(options: ExchangeOptions): Exchange {
  const { request, response, nonce, bodyHash, bootSecret, identity } = options;
  const gone = new AbortController();
  // No parsing that could fail: whoever reaches the door may send anything as a path.
  const search = /\?.*/s.exec(request.url ?? "")?.[0] ?? "";
  response.once("close", () => gone.abort());

  function proof(status: number, hash: string): OutgoingHttpHeaders {
    return nonce ? { [signatureHeaders.answer]: proveAnswer({ nonce, status, bodyHash: hash }, bootSecret) } : {};
  }

  function sendWhole(status: number, body: string): void {
    const bytes = Buffer.from(body);
    const unread = hasBody(request) && !request.complete;
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": bytes.length,
      ...(unread ? { connection: "close" } : {}),
      ...proof(status, hashBody(bytes)),
    });
    if (!unread) return void response.end(bytes);
    // Who is still sending would be cut off before reading why it was refused.
    response.write(bytes);
    const late = setTimeout(() => response.end(), unreadDeadline);
    request.once("end", () => response.end());
    response.once("close", () => clearTimeout(late));
    request.resume();
  }

  function stream(status: number, headers: OutgoingHttpHeaders): void {
    response.writeHead(status, { ...headers, ...proof(status, streamedBody) });
    response.flushHeaders();
  }

  return {
    request,
    response,
    query: new URLSearchParams(search),
    search,
    signal: gone.signal,
    bodyHash,
    body: (maxBytes = maxBodyBytes) => readBody(request, bodyHash, maxBytes),
    upload() {
      if (bodyHash === streamedBody && nonce) return readUpload(request, { ...identity, nonce });
      throw new Problem("invalid-input", "The body must be signed as a stream.");
    },
    empty(status) {
      response.writeHead(status, proof(status, hashBody("")));
      response.end();
    },
    json: (status, value) => sendWhole(status, JSON.stringify(value)),
    problem(problem) {
      if (response.headersSent) response.destroy(problem);
      else sendWhole(problem.status, problemBody(problem));
    },
    stream,
    async download(headers, source, note) {
      if (!nonce) throw new Problem("unauthenticated", "The request's signature was refused: it has no nonce.");
      await sendStream({
        response,
        source,
        note,
        nonce,
        bootSecret,
        begin: (own) => stream(200, { ...headers, ...own }),
      });
    },
  };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
