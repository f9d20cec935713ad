import { createHash, randomBytes } from "node:crypto";
import { type ClientRequest, request as createRequest, type IncomingMessage } from "node:http";
import { faultError } from "../errors.ts";
import {
  checkAnswer,
  hashBody,
  signatureHeaders,
  signRequest,
  signUpload,
  streamedBody,
  streamTrailers,
} from "../protocol/request-signature.ts";
import type { StreamOptions } from "./download-stream.ts";
import { collect, refusal, translate } from "./sidecar-answer.ts";
import type { SidecarUpload } from "./sidecar-client.ts";

const answerDeadline = 300_000;
const maxSilence = 120_000;

/** Over node:http and a connection of its own, since undici sends no trailers. */
export async function uploadStream<Result>(options: StreamOptions, input: SidecarUpload): Promise<Result> {
  const { door, sandboxId, bootId, bootSecret, privateKey, leaseEpoch = 0 } = options;
  const { method, path, body, timeoutMilliseconds = answerDeadline } = input;
  const late = new AbortController();
  const signal = AbortSignal.any([input.signal, late.signal]);
  const nonce = randomBytes(18).toString("base64url");
  const issuedAt = Date.now();
  const signed = { sandboxId, bootId, leaseEpoch, method, path, issuedAt, nonce, bodyHash: streamedBody };
  let timer: NodeJS.Timeout | undefined;
  /** Each step has its own time; what is late is aborted. */
  function allow(milliseconds: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => late.abort(), milliseconds);
  }

  try {
    allow(maxSilence);
    const connection = await door.connect();
    const request = createRequest({
      createConnection: () => connection,
      host: "sidecar",
      method,
      path,
      signal,
      headers: {
        "content-type": "application/gzip",
        "transfer-encoding": "chunked",
        connection: "close",
        trailer: `${streamTrailers.bodyHash}, ${streamTrailers.bodyProof}`,
        [signatureHeaders.signature]: signRequest(signed, privateKey),
        [signatureHeaders.issuedAt]: String(issuedAt),
        [signatureHeaders.nonce]: nonce,
        [signatureHeaders.bodyHash]: streamedBody,
        [signatureHeaders.leaseEpoch]: String(leaseEpoch),
      },
    });
    const answered = answerOf(request);
    try {
      const hash = await sendBody({ request, body, answered, onProgress: () => allow(maxSilence) });
      if (hash) {
        request.addTrailers([
          [streamTrailers.bodyHash, hash],
          [streamTrailers.bodyProof, signUpload({ sandboxId, bootId, nonce, bodyHash: hash }, privateKey)],
        ]);
        request.end();
      }
      allow(timeoutMilliseconds);
      const answer = await answered.promise;
      const text = await readProved(answer, { nonce, bootSecret });
      if ((answer.statusCode ?? 500) >= 400) throw refusal(answer.statusCode ?? 500, text);
      return JSON.parse(text) as Result;
    } finally {
      request.destroy();
      connection.destroy();
    }
  } catch (error) {
    if (late.signal.aborted) throw faultError("sandbox-late", { cause: error });
    throw translate(error, input.signal);
  } finally {
    clearTimeout(timer);
  }
}

interface Answered {
  promise: Promise<IncomingMessage>;
  readonly came: boolean;
}

function answerOf(request: ClientRequest): Answered {
  let came = false;
  const promise = new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", (answer) => {
      came = true;
      resolve(answer);
    });
    // Stays for the request's life: a connection may fail more than once.
    request.on("error", reject);
  });
  promise.catch(() => {
    came = true;
  });
  return {
    promise,
    get came() {
      return came;
    },
  };
}

/** The hash of all that was sent; null when an answer, so a refusal, came before the end. */
async function sendBody(input: {
  request: ClientRequest;
  body: AsyncIterable<Uint8Array>;
  answered: Answered;
  onProgress(): void;
}): Promise<string | null> {
  const { request, body, answered, onProgress } = input;
  const hash = createHash("sha256");
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      // A source that hangs must not outlive the request.
      const next = await Promise.race([chunks.next(), answered.promise.then(() => null)]);
      if (!next || answered.came) return null;
      if (next.done) return hash.digest("hex");
      if (next.value.length === 0) continue;
      hash.update(next.value);
      onProgress();
      if (!request.write(next.value)) await Promise.race([drainOf(request), answered.promise]);
    }
  } finally {
    // Not waited for: it may be what hangs.
    chunks.return?.()?.catch(() => {});
  }
}

function drainOf(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      request.off("drain", done).off("close", done);
      resolve();
    };
    request.on("drain", done).on("close", done);
  });
}

async function readProved(
  answer: IncomingMessage,
  { nonce, bootSecret }: { nonce: string; bootSecret: Uint8Array },
): Promise<string> {
  const header = String(answer.headers[signatureHeaders.answer] ?? "");
  const proof = checkAnswer(header, { nonce, status: answer.statusCode ?? 0 }, bootSecret);
  if (!proof) throw faultError("sandbox-answer", { cause: new Error("Not proved by this boot") });
  const bytes = await collect(answer);
  if (hashBody(bytes) !== proof.bodyHash) {
    throw faultError("sandbox-answer", { cause: new Error("Changed on its way") });
  }
  return bytes.toString("utf8");
}
