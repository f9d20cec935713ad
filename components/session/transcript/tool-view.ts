import type { LogEntryOf, ToolCallBody } from "@/server/protocol/log-entry.ts";
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

export type ToolIcon = "read" | "write" | "edit" | "run" | "search" | "list" | "fetch" | "subagent" | "plan" | "other";

export type ToolBody =
  /** `whole`: the text is a whole file, so that its lines have numbers. */
  | { type: "diff"; path: string; oldText: string; newText: string; whole: boolean }
  | { type: "file"; path: string; text: string; firstLine: number }
  /** `note`: what opencode adds about how it ended. */
  | { type: "terminal"; command: string; output: string; note: string; exitCode: number | null }
  | { type: "text"; text: string }
  | { type: "error"; text: string };

interface Wording {
  icon: ToolIcon;
  /** While it runs, and afterwards. */
  verbs: [string, string];
  target: (input: Record<string, unknown>) => unknown;
  /** Several in a row: `Read 3 files`. */
  many: string;
}

const path = (input: Record<string, unknown>) => input.filePath ?? input.path;

const wordings: Record<string, Wording> = {
  read: { icon: "read", verbs: ["Reading", "Read"], target: path, many: "files" },
  write: { icon: "write", verbs: ["Writing", "Wrote"], target: path, many: "files" },
  edit: { icon: "edit", verbs: ["Editing", "Edited"], target: path, many: "edits" },
  patch: { icon: "edit", verbs: ["Patching", "Patched"], target: path, many: "patches" },
  bash: { icon: "run", verbs: ["Running", "Ran"], target: (input) => input.command, many: "commands" },
  grep: { icon: "search", verbs: ["Searching", "Searched"], target: (input) => input.pattern, many: "searches" },
  glob: { icon: "search", verbs: ["Looking for", "Looked for"], target: (input) => input.pattern, many: "patterns" },
  list: { icon: "list", verbs: ["Listing", "Listed"], target: path, many: "folders" },
  webfetch: { icon: "fetch", verbs: ["Fetching", "Fetched"], target: (input) => input.url, many: "pages" },
  websearch: { icon: "fetch", verbs: ["Searching", "Searched"], target: (input) => input.query, many: "searches" },
  task: {
    icon: "subagent",
    verbs: ["Subagent working on", "Subagent finished"],
    target: (input) => input.description,
    many: "subagents",
  },
  skill: { icon: "other", verbs: ["Loading skill", "Loaded skill"], target: (input) => input.name, many: "skills" },
  todowrite: { icon: "plan", verbs: ["Planning", "Planned"], target: () => "", many: "lists" },
};

export function toToolView(entry: LogEntryOf<"tool_call">): ToolView {
  const { body } = entry;
  const wording = wordingOf(body);
  const running = body.status === "pending" || body.status === "in_progress";
  const bodies = bodiesOf(body);
  const target = wording.target(body.rawInput ?? {});
  return {
    icon: wording.icon,
    verb: wording.verbs[running ? 0 : 1],
    target: shortPath(firstLine(String(target || titleOf(body)))),
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
    target: `${views.length} ${first ? wordingOf(first.body).many : "calls"}`,
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

function wordingOf(body: ToolCallBody): Wording {
  const known = wordings[body.tool];
  if (known) return known;
  const name = body.tool === "invalid" ? "Tried" : `Used ${body.tool}`;
  return { icon: "other", verbs: [name.replace(/^Used/, "Using"), name], target: () => "", many: "times" };
}

function titleOf(body: ToolCallBody): string {
  return body.title === body.tool ? "" : body.title;
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

function bodiesOf(body: ToolCallBody): ToolBody[] {
  const input = body.rawInput ?? {};
  const bodies: ToolBody[] = [];
  const texts = body.content.flatMap((part) => (part.type === "content" ? [part.content.text] : []));
  const text = texts.join("\n") || outputOf(body);
  for (const part of body.content) {
    if (part.type !== "diff") continue;
    const { oldText, newText } = part;
    bodies.push({ type: "diff", path: shortPath(part.path), oldText: oldText ?? "", newText, whole: oldText === null });
  }
  if (body.tool === "bash") {
    const exitCode = body.exitCode ?? null;
    bodies.push({ type: "terminal", command: String(input.command ?? ""), ...printedText(stripAnsi(text)), exitCode });
  } else if (body.tool === "read" && text) {
    bodies.push({ type: "file", path: shortPath(String(path(input) ?? "")), ...readText(text, outputOf(body)) });
  } else if (text && bodies.length === 0) bodies.push({ type: "text", text: stripAnsi(text) });
  if (body.error) bodies.push({ type: "error", text: body.error });
  return bodies;
}

function outputOf(body: ToolCallBody): string {
  const output = body.rawOutput?.output;
  return typeof output === "string" ? output : "";
}

/** opencode numbers the lines of a file inside a frame of its own; the person sees the file, from that number on. */
function readText(text: string, output: string): { text: string; firstLine: number } {
  const framed = /<content>\n([\s\S]*?)\n(?:\n\([^\n]*\)\n)?<\/content>/.exec(output)?.[1];
  const firstLine = Number(/^(\d+): /.exec(framed ?? "")?.[1] ?? 1);
  if (framed === undefined || text !== output) return { text, firstLine };
  const lines = framed.split("\n").map((line) => line.replace(/^\d+: ?/, ""));
  return { text: lines.join("\n"), firstLine };
}

/** opencode appends a frame of its own to what a command printed, for example when it was stopped. */
function printedText(text: string): { output: string; note: string } {
  const frame = /\s*<shell_metadata>\s*([\s\S]*?)\s*<\/shell_metadata>\s*$/.exec(text);
  return frame ? { output: text.slice(0, frame.index), note: frame[1] ?? "" } : { output: text, note: "" };
}

function firstLine(text: string): string {
  const [line = "", ...rest] = text.split("\n");
  return rest.length > 0 ? `${line} …` : line;
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
