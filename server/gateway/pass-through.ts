import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { request as ask, type Dispatcher } from "undici";
import type { Logger } from "../lib/logger.ts";
import { answerProblem, problems } from "./answer-problem.ts";
import type { CallableProvider } from "./find-provider.ts";
import { maxRequestBytes } from "./gateway-route.ts";
import { requestHeaders, responseHeaders } from "./headers.ts";
import { hideSecret } from "./hide-secret.ts";
import { errorCode, providerProblem } from "./provider-problem.ts";

export interface Passage {
  provider: CallableProvider;
  path: string;
  request: IncomingMessage;
  response: ServerResponse;
  dispatcher: Dispatcher;
  /** Aborted at the server's end. */
  signal: AbortSignal;
  logger: Pick<Logger, "warn">;
}

/**
 * One call, streamed in both directions at the pace of the slower side; nothing is kept. The key is
 * added here and is in nothing that goes back. Resolves when the call is over, however it ended.
 */
export async function passThrough(passage: Passage): Promise<void> {
  const { provider, request, response, logger } = passage;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  let tooLarge = Number(request.headers["content-length"] ?? 0) > maxRequestBytes;
  if (tooLarge) return answerProblem(response, provider.kind, problems.tooLarge);
  const limit = limitBytes(maxRequestBytes, () => {
    tooLarge = true;
    request.unpipe(limit).pause();
    gone.abort();
  });
  try {
    const answer = await send(passage, limit, gone.signal);
    if (answer.statusCode >= 300 && answer.statusCode < 400) {
      answer.body.on("error", () => {}).destroy();
      return answerProblem(response, provider.kind, providerProblem(provider, "redirect"));
    }
    response.writeHead(answer.statusCode, responseHeaders(answer.headers, provider.key));
    response.flushHeaders();
    const hide = provider.key ? hideSecret(provider.key) : new PassThrough();
    await pipeline(answer.body, decoder(answer.headers["content-encoding"]), hide, response);
  } catch (error) {
    if (tooLarge) return answerProblem(response, provider.kind, problems.tooLarge);
    if (response.destroyed) return;
    if (passage.signal.aborted) return answerProblem(response, provider.kind, problems.stopping);
    const code = errorCode(error);
    logger.warn({ provider: provider.id, code }, "A model call failed");
    answerProblem(response, provider.kind, providerProblem(provider, code));
  } finally {
    limit.destroy();
  }
}

function send(passage: Passage, limit: Transform, gone: AbortSignal) {
  const { provider, path, request, dispatcher } = passage;
  const hasBody = request.method === "POST";
  // Not a pipeline, which would cut the connection on failure: the caller has to hear what went wrong.
  if (hasBody) request.on("error", () => limit.destroy()).pipe(limit.on("error", () => {}));
  // Redirects are not followed by undici unless it is told to.
  return ask(`${provider.baseUrl}/${path}`, {
    dispatcher,
    method: request.method as Dispatcher.HttpMethod,
    headers: requestHeaders(request.headers, provider),
    body: hasBody ? limit : null,
    signal: AbortSignal.any([gone, passage.signal]),
  });
}

function limitBytes(maxBytes: number, exceeded: () => void): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= maxBytes) return done(null, chunk);
      exceeded();
      done(new Error("The request is too large."));
    },
  });
}

/** For providers that compress although they were asked not to. */
function decoder(encoding: string | string[] | undefined): Transform {
  if (encoding === "gzip" || encoding === "x-gzip") return createGunzip();
  if (encoding === "deflate") return createInflate();
  if (encoding === "br") return createBrotliDecompress();
  return new PassThrough();
}
