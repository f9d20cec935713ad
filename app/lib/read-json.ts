import type { z } from "zod";
import { AppError } from "@/server/errors.ts";
import { parseInput } from "@/server/lib/parse-input.ts";

const maxBodyBytes = 1024 * 1024;

/** The body of a call, read no further than it may be long. */
export async function readJson<Schema extends z.ZodType>(request: Request, schema: Schema): Promise<z.output<Schema>> {
  const tooLarge = () => new AppError("too-large", "This request is too large. The limit is 1 MB.");
  if (Number(request.headers.get("content-length") ?? 0) > maxBodyBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  return parseInput(schema, text === "" ? {} : parseJson(text));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError("invalid-input", "The request body is not JSON.");
  }
}
