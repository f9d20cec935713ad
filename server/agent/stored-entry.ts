import type { EntryBody, EntryKind } from "../protocol/log-entry.ts";
import { toAskRequest } from "./to-ask-request.ts";
import { upgradeToolCall } from "./tool-call.ts";

/**
 * The one place where entries that an earlier version stored become what is written today: they hold opencode's
 * own requests and frames, which pages know nothing of. Bodies of today come back as they are.
 */
export function upgradeEntryBody(kind: EntryKind, body: EntryBody): EntryBody {
  if (kind === "tool_call") return upgradeToolCall(body as EntryBody<"tool_call">);
  if (kind !== "ask") return body;
  const ask = body as EntryBody<"ask">;
  return { ...ask, request: toAskRequest(ask.request) };
}
