import type { ToolCallStatus } from "@agentclientprotocol/sdk";
import type { ToolCallBody } from "../protocol/log-entry.ts";
import { toolOf } from "../protocol/tools.ts";
import { contentOfTool, isFields, locationsOfTool } from "./tool-content.ts";
import { shellFrame } from "./tool-frames.ts";
import { targetOfTool } from "./tool-target.ts";
import type { AgentPart } from "./translator-state.ts";

type Fields = Record<string, unknown>;

const statuses: Record<string, ToolCallBody["status"] & ToolCallStatus> = {
  pending: "pending",
  running: "in_progress",
  completed: "completed",
  error: "failed",
};

/** The body of a tool_call from opencode's part: cumulative, so each one replaces the one before. */
export function toolCallBody(part: AgentPart): ToolCallBody {
  const state = fieldsOf(part.state);
  const tool = typeof part.tool === "string" ? part.tool : "unknown";
  const input = fieldsOf(state.input);
  const metadata = fieldsOf(state.metadata);
  const output = typeof state.output === "string" ? state.output : "";
  const content = contentOfTool(tool, { input, output, metadata });
  const locations = locationsOfTool(tool, { input, output, content });
  const target = targetOfTool(tool, input, locations);
  const note = tool === "bash" ? shellFrame(output)?.note : undefined;
  const time = fieldsOf(state.time);
  return {
    toolCallId: typeof part.callID === "string" ? part.callID : part.id,
    tool,
    title: titleOf(tool, { target, given: typeof state.title === "string" ? state.title : "" }),
    target,
    kind: toolOf(tool).kind,
    status: statuses[String(state.status)] ?? "pending",
    ...(Object.keys(input).length > 0 ? { rawInput: input } : {}),
    ...rawOutput(tool, { state, metadata }),
    content,
    locations,
    ...(note ? { note } : {}),
    ...(typeof state.error === "string" ? { error: state.error } : {}),
    ...(tool === "bash" && "exit" in metadata ? { exitCode: exitCode(metadata.exit) } : {}),
    ...(typeof time.start === "number" ? { startedAt: time.start } : {}),
    ...(typeof time.end === "number" ? { endedAt: time.end } : {}),
  };
}

/**
 * A body as it is written today, also of an entry that was stored before the log named targets and took frames
 * apart. What is written now comes back as it is.
 */
export function upgradeToolCall(body: ToolCallBody): ToolCallBody {
  if (body.target !== undefined) return body;
  const { tool, rawInput: input = {}, rawOutput } = body;
  const output = typeof rawOutput?.output === "string" ? rawOutput.output : "";
  const made = body.content.length > 0 ? body.content : contentOfTool(tool, { input, output, metadata: {} });
  const locations = locationsOfTool(tool, { input, output, content: made });
  const note = tool === "bash" ? shellFrame(output)?.note : undefined;
  const target = targetOfTool(tool, input, locations);
  return { ...body, target, content: made, locations, ...(note ? { note } : {}) };
}

export function isFinalTool(body: ToolCallBody): boolean {
  return body.status === "completed" || body.status === "failed";
}

function titleOf(tool: string, { target, given }: { target: string; given: string }): string {
  const title = toolOf(tool).title(target) || given || tool;
  return title.split("\n", 1)[0]?.slice(0, 200) ?? tool;
}

function rawOutput(tool: string, { state, metadata }: { state: Fields; metadata: Fields }): { rawOutput?: Fields } {
  // The child session is kept here so that a turn that is taken over finds its subagents again.
  const child = tool === "task" && typeof metadata.sessionId === "string" ? { sessionId: metadata.sessionId } : {};
  const output = state.output ?? (tool === "bash" ? metadata.output : undefined);
  const shown = typeof output === "string" ? { output } : fieldsOf(output);
  const all = { ...child, ...shown };
  return Object.keys(all).length > 0 ? { rawOutput: all } : {};
}

function exitCode(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) ? value : null;
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}
