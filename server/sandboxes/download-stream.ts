import { createHash, type KeyObject, randomBytes } from "node:crypto";
import { type Dispatcher, request as sendRequest } from "undici";
import { AppError, faultError } from "../errors.ts";
import {
  checkAnswer,
  hashBody,
  isDownloadProof,
  signatureHeaders,
  signRequest,
  streamedBody,
  streamTrailers,
} from "../protocol/request-signature.ts";
import type { SandboxDoor } from "./sandbox-backend.ts";
import { collect, refusal, translate } from "./sidecar-answer.ts";
import type { DownloadedStream, SidecarDownload } from "./sidecar-client.ts";

export interface StreamOptions {
  door: SandboxDoor;
  sandboxId: string;
  bootId: string;
  bootSecret: Uint8Array;
  privateKey: KeyObject;
  leaseEpoch?: number;
}

const headersDeadline = 300_000;
const maxSilence = 120_000;

export async function downloadStream(options: StreamOptions, input: SidecarDownload): Promise<DownloadedStream> {
  const { door, sandboxId, bootId, bootSecret, privateKey, leaseEpoch = 0 } = options;
  const { method, path, signal } = input;
  const nonce = randomBytes(18).toString("base64url");
  const issuedAt = Date.now();
  const bodyHash = hashBody("");
  const signed = { sandboxId, bootId, leaseEpoch, method, path, issuedAt, nonce, bodyHash };
  const answer = await sendRequest(door.origin + path, {
    dispatcher: door.dispatcher,
    method,
    headers: {
      [signatureHeaders.signature]: signRequest(signed, privateKey),
      [signatureHeaders.issuedAt]: String(issuedAt),
      [signatureHeaders.nonce]: nonce,
      [signatureHeaders.bodyHash]: bodyHash,
      [signatureHeaders.leaseEpoch]: String(leaseEpoch),
    },
    headersTimeout: input.timeoutMilliseconds ?? headersDeadline,
    bodyTimeout: maxSilence,
    signal,
  }).catch((error) => Promise.reject(translate(error, signal)));

  const { statusCode: status, headers, body } = answer;
  const proof = checkAnswer(String(headers[signatureHeaders.answer] ?? ""), { nonce, status }, bootSecret);
  if (!proof) {
    body.on("error", () => {}).destroy();
    throw faultError("sandbox-answer", { cause: new Error("Not proved by this boot") });
  }
  if (proof.bodyHash === streamedBody && status === 200) return proved(answer, { nonce, bootSecret, signal });
  const bytes = await collect(body).catch((error) => Promise.reject(translate(error, signal)));
  if (hashBody(bytes) !== proof.bodyHash) {
    throw faultError("sandbox-answer", { cause: new Error("Changed on its way") });
  }
  if (status === 204 || status === 304) return { status, body: nothing(), note: () => null };
  throw refusal(status, bytes.toString("utf8"));
}

function proved(
  { body, trailers }: Dispatcher.ResponseData,
  { nonce, bootSecret, signal }: { nonce: string; bootSecret: Uint8Array; signal: AbortSignal },
): DownloadedStream {
  let note: string | null = null;
  async function* read(): AsyncGenerator<Buffer> {
    const hash = createHash("sha256");
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        hash.update(chunk);
        yield chunk;
      }
    } catch (error) {
      throw translate(error, signal);
    } finally {
      body.destroy();
    }
    const given = trailers as Record<string, string | undefined>;
    const download = {
      nonce,
      bodyHash: hash.digest("hex"),
      note: given[streamTrailers.note] ?? "",
    };
    const isWhole = given[streamTrailers.bodyHash] === download.bodyHash;
    if (!isWhole || !isDownloadProof(download, given[streamTrailers.bodyProof] ?? "", bootSecret)) {
      throw faultError("sandbox-answer", { cause: new Error("Cut off or changed on its way") });
    }
    note = download.note;
  }
  return {
    status: 200,
    body: read(),
    note() {
      if (note === null) throw new AppError("internal", "The note was asked for before the stream ended.");
      return JSON.parse(note);
    },
  };
}

async function* nothing(): AsyncGenerator<Buffer> {}
