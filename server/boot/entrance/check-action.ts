import type { IncomingMessage } from "node:http";
import { type Refusal, refusal } from "./refusal.ts";

const maxDepth = 32;
const notAnAction = refusal("invalid-input", "This page does not take such a request. Load it again.");

/**
 * Next fails with 500 on an action's arguments that it cannot decode, before any code of ours runs. Our pages send plain
 * values: a list in JSON, in which a text that begins with `$` has another one in front, and nothing is `$undefined`.
 */
export function checkAction(request: IncomingMessage, body: Buffer): Refusal | null {
  const type = request.headers["content-type"] ?? "";
  if (!/^[0-9a-f]{40,44}$/.test(String(request.headers["next-action"])) || !type.startsWith("text/plain")) {
    return notAnAction;
  }
  const given = parse(body);
  return Array.isArray(given) && isPlain(given) ? null : notAnAction;
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

function isPlain(value: unknown, depth = 0): boolean {
  if (typeof value === "string") return !value.startsWith("$") || value.startsWith("$$") || value === "$undefined";
  if (typeof value !== "object" || value === null) return true;
  if (depth >= maxDepth) return false;
  return Object.entries(value).every(([key, member]) => key !== "__proto__" && isPlain(member, depth + 1));
}
