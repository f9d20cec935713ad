import type { LogEntryOf, ToolCallBody } from "@/server/protocol/log-entry.ts";
import { type Tool, type ToolIcon, toolOf } from "@/server/protocol/tools.ts";
import { stripAnsi } from "./ansi.ts";
import { countChanges, diffLines } from "./line-diff.ts";

/** What a tool card shows in its one row, and what opens below it. */
export interface ToolView {
  icon: ToolIcon;
  verb: string;
  /** In mono: a path, a command, a pattern. */
  target: string;
  result: { text: string; tone: "plain" | "danger" } | { added: number; removed: number } | null;
  failed: boolean;
  running: boolean;
  /** Milliseconds of the epoch; `endedAt` null while it runs. */
  startedAt: number | null;
  endedAt: number | null;
  bodies: ToolBody[];
}

export type ToolBody =
  /** `whole`: the text is a whole file, so that its lines have numbers. */
  | { type: "diff"; path: string; oldText: string; newText: string; whole: boolean }
  | { type: "file"; path: string; text: string; firstLine: number }
  /** `note`: what the agent says about how it ended. */
  | { type: "terminal"; command: string; output: string; note: string; exitCode: number | null }
  | { type: "text"; text: string }
  | { type: "error"; text: string };

export function toToolView(entry: LogEntryOf<"tool_call">): ToolView {
  const { body } = entry;
  const tool = toolOf(body.tool);
  const running = body.status === "pending" || body.status === "in_progress";
  const bodies = bodiesOf(body, tool);
  return {
    icon: tool.icon,
    verb: tool.verbs[running ? 0 : 1],
    target: shortPath(firstLine(targetOf(body, tool))),
    result: resultOf(body, bodies),
    failed: body.status === "failed" || (body.exitCode ?? 0) !== 0,
    running,
    startedAt: body.startedAt ?? null,
    endedAt: body.endedAt ?? null,
    bodies,
  };
}

/** The one row of a folded run. */
export function toRunSummary(views: readonly ToolView[], entries: readonly LogEntryOf<"tool_call">[]) {
  const [first] = entries;
  const last = views.at(-1);
  const changes = views.flatMap(({ result }) => (result && "added" in result ? [result] : []));
  const sum = (key: "added" | "removed") => changes.reduce((total, change) => total + change[key], 0);
  return {
    icon: last?.icon ?? "other",
    verb: last?.verb ?? "",
    target: `${views.length} ${first ? toolOf(first.body.tool).many : "times"}`,
    result: changes.length > 0 ? { added: sum("added"), removed: sum("removed") } : null,
    running: views.some((view) => view.running),
    startedAt: views[0]?.startedAt ?? null,
    endedAt: last?.endedAt ?? null,
  };
}

/** As the person knows it: from the session's own directory. */
export function shortPath(text: string): string {
  return text.replace(/^\S*?\/sessions\/[0-9a-f-]{36}\//, "");
}

/** A tool that is not in the table says by its title what it does. */
function targetOf({ tool: name, target, title }: ToolCallBody, tool: Tool): string {
  if (target) return target;
  return tool.target === null && title !== name && !tool.title("") ? title : "";
}

function resultOf(body: ToolCallBody, bodies: readonly ToolBody[]): ToolView["result"] {
  if (body.status === "failed") return { text: "failed", tone: "danger" };
  if (body.exitCode) return { text: `exit ${body.exitCode}`, tone: "danger" };
  if (body.status !== "completed") return null;
  const diffs = bodies.filter((part) => part.type === "diff");
  if (diffs.length > 0) return countChanges(diffs.flatMap((diff) => diffLines(diff.oldText, diff.newText)));
  const file = bodies.find((part) => part.type === "file");
  if (file)
    return {
      text: plural(file.text === "" ? 0 : file.text.replace(/\n$/, "").split("\n").length, "line"),
      tone: "plain",
    };
  return null;
}

function bodiesOf(body: ToolCallBody, tool: Tool): ToolBody[] {
  const bodies: ToolBody[] = [];
  const text = textOf(body);
  for (const part of body.content) {
    if (part.type !== "diff") continue;
    const { oldText, newText } = part;
    bodies.push({ type: "diff", path: shortPath(part.path), oldText: oldText ?? "", newText, whole: oldText === null });
  }
  if (tool.body === "terminal") {
    const { target: command = "", note = "", exitCode = null } = body;
    bodies.push({ type: "terminal", command, output: stripAnsi(text), note, exitCode });
  } else if (tool.body === "file" && text) {
    const [at] = body.locations;
    bodies.push({ type: "file", path: shortPath(at?.path ?? ""), text, firstLine: at?.line ?? 1 });
  } else if (text && bodies.length === 0) bodies.push({ type: "text", text: stripAnsi(text) });
  if (body.error) bodies.push({ type: "error", text: body.error });
  return bodies;
}

/** What it gave to show; where it gave nothing, its plain output. */
function textOf({ content, rawOutput }: ToolCallBody): string {
  const texts = content.flatMap((part) => (part.type === "content" ? [part.content.text] : []));
  if (texts.length > 0) return texts.join("\n");
  return typeof rawOutput?.output === "string" ? rawOutput.output : "";
}

function firstLine(text: string): string {
  const [line = "", ...rest] = text.split("\n");
  return rest.length > 0 ? `${line} …` : line;
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
