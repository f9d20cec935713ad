import type { z } from "zod";
import { AppError } from "@/server/errors.ts";
import { parseInput } from "@/server/lib/parse-input.ts";
import { refuseBrokenText } from "./refuse-broken-text.ts";

// What a form of any web page can send without asking.
const formTypes = /^(text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The body of a call. How long it may be is the HTTP server's business (`server/protocol/body-limits.ts`). */
export async function readJson<Schema extends z.ZodType>(request: Request, schema: Schema): Promise<z.output<Schema>> {
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength === 0) return parseInput(schema, {});
  if (formTypes.test(request.headers.get("content-type") ?? "")) {
    throw new AppError("invalid-input", "Send JSON, with the header content-type: application/json.");
  }
  const body = parseJson(bytes);
  refuseBrokenText(body);
  return parseInput(schema, body);
}

function parseJson(bytes: ArrayBuffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw new AppError("invalid-input", "The request body is not JSON.", { cause });
  }
}
