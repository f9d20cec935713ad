import { basename } from "node:path/posix";
import type { ToolKind } from "@agentclientprotocol/sdk";
import type { ToolCallBody } from "../protocol/log-entry.ts";

type ToolInput = Record<string, unknown>;

interface ToolRow {
  kind: ToolCallBody["kind"] & ToolKind;
  title: (input: ToolInput) => string;
}

const fileTitle = (verb: string) => (input: ToolInput) => `${verb} ${basename(textOf(input.filePath)) || "a file"}`;
const patternTitle = (verb: string) => (input: ToolInput) => `${verb} ${quoted(input.pattern)}`.trim();

/** opencode's tools in the vocabulary of the Agent Client Protocol. */
const tools: Record<string, ToolRow> = {
  bash: { kind: "execute", title: (input) => textOf(input.command) || "Run a command" },
  read: { kind: "read", title: fileTitle("Read") },
  write: { kind: "edit", title: fileTitle("Write") },
  edit: { kind: "edit", title: fileTitle("Edit") },
  multiedit: { kind: "edit", title: fileTitle("Edit") },
  patch: { kind: "edit", title: () => "Apply a patch" },
  apply_patch: { kind: "edit", title: () => "Apply a patch" },
  list: { kind: "search", title: (input) => `List ${textOf(input.path) || "files"}` },
  glob: { kind: "search", title: patternTitle("Find") },
  grep: { kind: "search", title: patternTitle("Search") },
  codesearch: { kind: "search", title: (input) => `Search ${quoted(input.query)}`.trim() },
  lsp: { kind: "search", title: () => "Look up code" },
  webfetch: { kind: "fetch", title: (input) => `Fetch ${textOf(input.url)}`.trim() },
  websearch: { kind: "fetch", title: (input) => `Search the web ${quoted(input.query)}`.trim() },
  todowrite: { kind: "think", title: () => "Update the plan" },
  todoread: { kind: "think", title: () => "Read the plan" },
  task: { kind: "think", title: (input) => textOf(input.description) || "Start a subagent" },
  skill: { kind: "read", title: (input) => `Use the skill ${textOf(input.name)}`.trim() },
  question: { kind: "other", title: questionTitle },
  invalid: { kind: "other", title: (input) => `Unknown tool ${textOf(input.tool)}`.trim() },
};

export function titleOfTool(tool: string, input: ToolInput, given: string): string {
  const row = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  const title = row ? row.title(input) : given || tool;
  return title.split("\n", 1)[0]?.slice(0, 200) ?? tool;
}

export function kindOfTool(tool: string): ToolCallBody["kind"] {
  return (Object.hasOwn(tools, tool) ? tools[tool]?.kind : undefined) ?? "other";
}

function questionTitle(input: ToolInput): string {
  const first: unknown = Array.isArray(input.questions) ? input.questions[0] : null;
  const header = typeof first === "object" && first !== null && "header" in first ? textOf(first.header) : "";
  return header ? `Ask: ${header}` : "Ask a question";
}

function quoted(value: unknown): string {
  return typeof value === "string" && value ? `“${value}”` : "";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
