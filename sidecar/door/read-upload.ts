import { createHash, type KeyObject } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isUploadSignature, streamTrailers } from "../../server/protocol/request-signature.ts";
import { Problem } from "../sidecar-problem.ts";
import { boundSilence } from "./bound-silence.ts";

export interface StreamIdentity {
  sandboxId: string;
  bootId: string;
  publicKey: KeyObject;
}

/** The body in chunks; throws at its end unless the server's trailer vouches for every byte, so nothing may be made of it before. */
export async function* readUpload(
  request: IncomingMessage,
  { sandboxId, bootId, publicKey, nonce }: StreamIdentity & { nonce: string },
): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  try {
    using _silence = boundSilence(request);
    // Left whole on refusal: destroying it would take the connection, and with it the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield chunk;
    }
  } catch (error) {
    throw new Problem("invalid-input", "The body was cut.", { cause: error });
  }
  const bodyHash = hash.digest("hex");
  const given = request.trailers[streamTrailers.bodyHash];
  const signature = request.trailers[streamTrailers.bodyProof];
  if (!request.complete || !given || !signature) throw refusal("the trailer of its body is missing");
  if (given !== bodyHash) throw refusal("its body is not the one in the trailer");
  if (!isUploadSignature({ sandboxId, bootId, nonce, bodyHash }, signature, publicKey)) {
    throw refusal("the trailer of its body is not the server's");
  }
}

function refusal(reason: string): Problem {
  return new Problem("unauthenticated", `The request's signature was refused: ${reason}.`);
}
