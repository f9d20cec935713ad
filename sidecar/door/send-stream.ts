import { createHash } from "node:crypto";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { proveDownload, streamTrailers } from "../../server/protocol/request-signature.ts";
import { drained } from "../drained.ts";
import { Problem } from "../sidecar-problem.ts";

export interface SendStreamInput {
  response: ServerResponse;
  source: AsyncIterable<Buffer>;
  /** Asked for when the source has ended. */
  note(): string;
  nonce: string;
  bootSecret: Uint8Array;
  /** Sends the head. */
  begin(headers: OutgoingHttpHeaders): void;
}

/** The head is sent with the first chunk: what fails before can still be answered as a refusal. */
export async function sendStream({ response, source, note, nonce, bootSecret, begin }: SendStreamInput): Promise<void> {
  const hash = createHash("sha256");
  const announced = { trailer: Object.values(streamTrailers).join(", ") };
  for await (const chunk of source) {
    if (!response.headersSent) begin(announced);
    if (response.destroyed) throw new Problem("unavailable", "Whoever asked for the stream has left.");
    hash.update(chunk);
    if (!response.write(chunk)) await drained(response);
  }
  if (!response.headersSent) begin(announced);
  const bodyHash = hash.digest("hex");
  const proved = { nonce, bodyHash, note: note() };
  response.addTrailers({
    [streamTrailers.bodyHash]: bodyHash,
    [streamTrailers.bodyProof]: proveDownload(proved, bootSecret),
    [streamTrailers.note]: proved.note,
  });
  response.end();
}
