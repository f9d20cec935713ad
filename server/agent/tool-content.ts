import type { ToolCallBody, ToolContent } from "../protocol/log-entry.ts";
import { readFrame, shellFrame, taskResult } from "./tool-frames.ts";

type Fields = Record<string, unknown>;

/** opencode has no content array on its tools: it is made from input, output and metadata. */
export function contentOfTool(tool: string, call: { input: Fields; output: string; metadata: Fields }): ToolContent[] {
  const { input, output, metadata } = call;
  if (tool === "edit" || tool === "multiedit" || tool.endsWith("patch")) return editContent(input, metadata);
  if (tool === "write") return writeContent(input);
  if (tool === "read") return textContent(readText(metadata) ?? readFrame(output)?.text ?? "");
  if (tool === "bash") return printedContent(output);
  if (tool === "task") return textContent(taskResult(output));
  if (tool === "webfetch" || tool === "websearch" || tool === "skill") return textContent(output);
  return [];
}

/** The line is where what was read begins. */
export function locationsOfTool(
  tool: string,
  call: { input: Fields; output: string; content: readonly ToolContent[] },
): ToolCallBody["locations"] {
  const { input, output, content } = call;
  const path = input.filePath ?? input.path;
  const begins = tool === "read" ? readFrame(output)?.firstLine : undefined;
  const line = begins
    ? begins > 1
      ? { line: begins }
      : {}
    : typeof input.offset === "number"
      ? { line: input.offset }
      : {};
  if (typeof path === "string" && path) return [{ path, ...line }];
  return content.flatMap((item) => (item.type === "diff" ? [{ path: item.path }] : []));
}

function textContent(text: string): ToolContent[] {
  return text ? [{ type: "content", content: { type: "text", text } }] : [];
}

/** Only what is not simply its output, which stands there already. */
function printedContent(output: string): ToolContent[] {
  const framed = shellFrame(output);
  return framed ? [{ type: "content", content: { type: "text", text: framed.text } }] : [];
}

/** While it runs, what was asked for; once it is done, what was changed, with the lines around it. */
function editContent(input: Fields, metadata: Fields): ToolContent[] {
  const files = Array.isArray(metadata.files) ? metadata.files.filter(isFields) : [];
  const changed = [...files, ...(isFields(metadata.filediff) ? [metadata.filediff] : [])].flatMap(fileDiff);
  if (changed.length > 0) return changed;
  const { filePath, oldString, newString } = input;
  if (typeof filePath !== "string" || typeof newString !== "string") return [];
  return [
    { type: "diff", path: filePath, oldText: typeof oldString === "string" ? oldString : null, newText: newString },
  ];
}

/** opencode does not tell what the file held before. */
function writeContent(input: Fields): ToolContent[] {
  const { filePath, content } = input;
  if (typeof filePath !== "string" || typeof content !== "string") return [];
  return [{ type: "diff", path: filePath, oldText: null, newText: content }];
}

function fileDiff(file: Fields): ToolContent[] {
  const path = file.file ?? file.filePath ?? file.path;
  if (typeof path !== "string") return [];
  if (typeof file.before === "string" && typeof file.after === "string") {
    return [{ type: "diff", path, oldText: file.before, newText: file.after }];
  }
  return hunksOf(typeof file.patch === "string" ? file.patch : "").map((hunk) => ({ type: "diff", path, ...hunk }));
}

/** One diff for each hunk of a unified patch. */
function hunksOf(patch: string): { oldText: string; newText: string }[] {
  const hunks: { oldText: string; newText: string }[] = [];
  for (const line of patch.split("\n")) {
    const hunk = hunks.at(-1);
    if (line.startsWith("@@")) hunks.push({ oldText: "", newText: "" });
    else if (!hunk) continue;
    else if (line.startsWith("-")) hunk.oldText += `${line.slice(1)}\n`;
    else if (line.startsWith("+")) hunk.newText += `${line.slice(1)}\n`;
    else if (line.startsWith(" ")) {
      hunk.oldText += `${line.slice(1)}\n`;
      hunk.newText += `${line.slice(1)}\n`;
    }
  }
  return hunks;
}

function readText(metadata: Fields): string | null {
  const display = isFields(metadata.display) ? metadata.display : {};
  return typeof display.text === "string" ? display.text : null;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
