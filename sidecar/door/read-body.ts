import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { Problem } from "../sidecar-problem.ts";
import { boundSilence } from "./bound-silence.ts";

const megabyte = 1024 * 1024;
export const maxBodyBytes = 32 * megabyte;

/** The body in chunks; throws at its end when it is not the signed one, so nothing may be done with it before. */
export async function* checkedBody(
  request: IncomingMessage,
  { bodyHash, maxBytes }: { bodyHash: string; maxBytes: number },
): AsyncGenerator<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const hash = createHash("sha256");
  let bytes = 0;
  using _silence = boundSilence(request);
  // Left whole on refusal: destroying it would take the connection, and with it the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest("hex") !== bodyHash) {
    throw new Problem("unauthenticated", "The request's signature was refused: its body is not the signed one.");
  }
}

export async function readBody(request: IncomingMessage, bodyHash: string, maxBytes = maxBodyBytes): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of checkedBody(request, { bodyHash, maxBytes })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function parseJson<Schema extends z.ZodType>(body: Buffer, schema: Schema): z.output<Schema> {
  let value: unknown;
  try {
    value = body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
  } catch {
    throw new Problem("invalid-input", "The body is not JSON.");
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Problem("invalid-input", `The body is not valid: ${issue?.path.join(".")} ${issue?.message}`);
}

function tooLarge(maxBytes: number): Problem {
  return new Problem("too-large", `The body is larger than ${Math.round(maxBytes / megabyte)} MB.`);
}
