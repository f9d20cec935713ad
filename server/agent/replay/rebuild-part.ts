import { isFields } from "../tool-content.ts";
import type { SavedEntry, SavedPart } from "./saved-conversation.ts";

/** What ended without the agent's own word (it died, or the sandbox did), from what the log shows of it. */
export function rebuildPart({ kind, body, at }: SavedEntry): SavedPart | null {
  const time = { start: at, end: at };
  if (kind === "agent_message" || kind === "agent_thought") {
    return { type: kind === "agent_message" ? "text" : "reasoning", text: String(body.text ?? ""), time };
  }
  if (kind !== "tool_call" || typeof body.tool !== "string") return null;
  const error = typeof body.error === "string" ? body.error : "The tool was interrupted.";
  const output = isFields(body.rawOutput) && typeof body.rawOutput.output === "string" ? body.rawOutput.output : "";
  return {
    type: "tool",
    tool: body.tool,
    callID: String(body.toolCallId ?? ""),
    state: {
      status: "error",
      input: isFields(body.rawInput) ? body.rawInput : {},
      error: output ? `${error}\nOutput until then:\n${output}` : error,
      time,
    },
  };
}
