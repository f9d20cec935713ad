import { describe, expect, it } from "vitest";
import type { EntryBody, EntryKind, LogEntry, ToolCallBody } from "@/server/protocol/log-entry.ts";
import { toChanges } from "../../files/file-changes.ts";
import { stripAnsi } from "./ansi.ts";
import { readPermission, readQuestions, sayAnswer } from "./ask-view.ts";
import { type Block, sameSources, toBlocks } from "./blocks.ts";
import { countChanges, diffLines, withContext } from "./line-diff.ts";
import { toRunSummary, toToolView } from "./tool-view.ts";

let number = 0;
function entry<Kind extends EntryKind>(
  kind: Kind,
  body: EntryBody<Kind>,
  more: Partial<Pick<LogEntry, "number" | "open" | "under" | "turnId" | "at">> = {},
): LogEntry {
  number += 1;
  const at = new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString();
  return { number, version: number, turnId: "t", kind, open: false, under: null, at, body, ...more } as LogEntry;
}
const tool = (body: Partial<ToolCallBody>, more = {}): LogEntry =>
  entry(
    "tool_call",
    {
      toolCallId: "c",
      tool: "bash",
      title: "",
      kind: "execute",
      status: "completed",
      content: [],
      locations: [],
      ...body,
    },
    more,
  );
const kinds = (blocks: Block[]) => blocks.map((block) => block.kind);
const view = (body: Partial<ToolCallBody>) => toToolView(tool(body) as Extract<LogEntry, { kind: "tool_call" }>);

describe("the transcript", () => {
  it("shows what a turn waits for in place of the phases that led to it", () => {
    const phase = (name: EntryBody<"sandbox-phase">["phase"]) => entry("sandbox-phase", { phase: name, message: "" });
    const blocks = toBlocks([phase("starting-sandbox"), phase("starting-agent"), phase("waiting")]);
    expect(kinds(blocks)).toEqual(["waiting"]);
  });

  it("does not show text that ended empty, and shows a thought that has just begun", () => {
    const blank = [entry("agent_message", { text: "\n" }), entry("agent_thought", { text: "" })];
    expect(toBlocks(blank)).toEqual([]);
    expect(kinds(toBlocks([entry("agent_thought", { text: "" }, { open: true })]))).toEqual(["thought"]);
  });

  it("joins text that was continued in a next entry, and only that", () => {
    const first = entry("agent_message", { text: "one " });
    const blocks = toBlocks([
      first,
      entry("agent_message", { text: "two", continues: first.number }),
      entry("agent_message", { text: "three" }),
    ]);
    expect(blocks.map((block) => block.kind === "answer" && block.text)).toEqual(["one two", "three"]);
  });

  it("folds what was undone, where it stood, until it is redone", () => {
    const entries = [
      entry("prompt", { text: "one" }, { turnId: "first" }),
      entry("agent_message", { text: "answer" }, { turnId: "first" }),
      entry("prompt", { text: "two" }, { turnId: "second" }),
      entry("agent_message", { text: "answer" }, { turnId: "second" }),
      entry("turn-undo", { turnIds: ["second"] }, { turnId: "undo" }),
    ];
    const blocks = toBlocks(entries);
    expect(kinds(blocks)).toEqual(["prompt", "answer", "undone", "revert"]);
    expect(blocks[2]?.kind === "undone" && kinds(blocks[2].blocks)).toEqual(["prompt", "answer"]);
    const redone = toBlocks([...entries, entry("turn-redo", { turnIds: ["second"] }, { turnId: "redo" })]);
    expect(kinds(redone)).toEqual(["prompt", "answer", "prompt", "answer", "revert", "revert"]);
  });

  it("folds runs of the same tool, but keeps a failure by itself", () => {
    const blocks = toBlocks([
      tool({ tool: "read" }),
      tool({ tool: "read" }),
      tool({ tool: "read", status: "failed" }),
      tool({ tool: "read" }),
      tool({ tool: "bash" }),
    ]);
    expect(blocks.map((block) => block.kind === "tools" && block.tools.length)).toEqual([2, 1, 1, 1]);
  });

  it("nests what a subagent did under its call", () => {
    const task = tool({ tool: "task", target: "look around" });
    const blocks = toBlocks([
      task,
      tool({ tool: "read" }, { under: task.number }),
      entry("agent_message", { text: "Done" }),
    ]);
    expect(kinds(blocks)).toEqual(["tools", "answer"]);
    expect(blocks[0]?.kind === "tools" && kinds(blocks[0].tools[0]?.nested ?? [])).toEqual(["tools"]);
  });

  it("sets a discarded try aside, with its reason", () => {
    const cut = entry("agent_message", { text: "half", discarded: true });
    const blocks = toBlocks([
      cut,
      entry("parts-discard", { numbers: [cut.number], attempt: 1, reason: "Connection lost" }),
      entry("agent_message", { text: "whole" }),
    ]);
    expect(kinds(blocks)).toEqual(["discarded", "answer"]);
    expect(blocks[0]?.kind === "discarded" && blocks[0].reason).toBe("Connection lost");
    // The reason comes last: whoever has seen the try without it draws it again.
    expect(sameSources(toBlocks([cut])[0] as Block, blocks[0] as Block)).toBe(false);
  });

  it("says why the model is asked again when it had said nothing, the newest reason only", () => {
    const retry = (attempt: number) => entry("parts-discard", { numbers: [], attempt, reason: `No ${attempt}.` });
    const [block, ...rest] = toBlocks([retry(1), retry(2)]);
    expect(rest).toEqual([]);
    expect(block?.kind === "retry" && block.entry.body.attempt).toBe(2);
  });

  it("shows only the newest list of a turn and no card for the tool that wrote it", () => {
    const item = { content: "a", status: "pending" as const, priority: "high" as const };
    const blocks = toBlocks([
      tool({ tool: "todowrite" }),
      entry("plan", { entries: [item] }),
      entry("plan", { entries: [{ ...item, status: "completed" }] }),
    ]);
    expect(kinds(blocks)).toEqual(["plan"]);
    expect(blocks[0]?.kind === "plan" && blocks[0].entry.body.entries[0]?.status).toBe("completed");
  });

  it("gathers the phases of one wake and begins anew after it is done", () => {
    const phase = (name: "starting-sandbox" | "running") => entry("sandbox-phase", { phase: name, message: name });
    const blocks = toBlocks([phase("starting-sandbox"), phase("running"), phase("starting-sandbox")]);
    expect(blocks.map((block) => block.kind === "phases" && [block.entries.length, block.done])).toEqual([
      [2, true],
      [1, false],
    ]);
  });

  it("waits no more for files once they are there, or once something else came of it", () => {
    const phase = (name: "running" | "restoring-files" | "files-ready") =>
      entry("sandbox-phase", { phase: name, message: name });
    const shown = (...entries: LogEntry[]) =>
      toBlocks(entries).flatMap((block) => (block.kind === "phases" ? [[block.entries.length, block.done]] : []));
    const waiting = phase("restoring-files");
    expect(shown(phase("running"), waiting)).toEqual([
      [1, true],
      [1, false],
    ]);
    expect(shown(waiting, phase("files-ready"))).toEqual([[2, true]]);
    const stopped = entry("turn-end", { outcome: "stopped" });
    expect(shown(waiting, stopped)).toEqual([[1, true]]);
    expect(sameSources(toBlocks([waiting])[0] as Block, toBlocks([waiting, stopped])[0] as Block)).toBe(false);
  });

  it("makes one line of a turn's end and its usage", () => {
    const tokens = { input: 1, output: 2, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
    const usage = { cost: 0, tokens, providerId: null, modelId: null, milliseconds: 5 };
    const blocks = toBlocks([entry("usage", usage), entry("turn-end", { outcome: "finished" })]);
    expect(kinds(blocks)).toEqual(["end"]);
  });

  it("knows a block whose entries did not change", () => {
    const entries = [tool({ tool: "read" }), entry("agent_message", { text: "a" })];
    const [before, after] = [toBlocks(entries), toBlocks([...entries, entry("prompt", { text: "more" })])];
    expect(before.every((block, index) => sameSources(block, after[index] as Block))).toBe(true);
    const grown = [entries[0], { ...(entries[1] as LogEntry), body: { text: "ab" } }] as LogEntry[];
    expect(sameSources(before[1] as Block, toBlocks(grown)[1] as Block)).toBe(false);
  });
});

describe("a tool card", () => {
  it("says what an edit changed, from the session's own directory", () => {
    const path = "/workspace/sessions/0190a0a0-0000-7000-8000-000000000000/src/a.ts";
    const content = [{ type: "diff" as const, path, oldText: "a\nb\n", newText: "a\nB\nc\n" }];
    const shown = view({ tool: "edit", kind: "edit", target: path, content });
    expect(shown).toMatchObject({
      verb: "Edited",
      target: "src/a.ts",
      result: { added: 2, removed: 1 },
      failed: false,
    });
  });

  it("marks a command that ended with an error, and shows its output without colours", () => {
    const shown = view({
      target: "npm test",
      rawOutput: { output: "\u001b[31mred\u001b[0m" },
      exitCode: 1,
    });
    expect(shown).toMatchObject({ target: "npm test", result: { text: "exit 1", tone: "danger" }, failed: true });
    expect(shown.bodies).toEqual([{ type: "terminal", command: "npm test", output: "red", note: "", exitCode: 1 }]);
  });

  it("shows what a tool gave to show rather than its plain output", () => {
    const content = [{ type: "content" as const, content: { type: "text" as const, text: "begun" } }];
    const shown = view({ target: "sleep 30", content, rawOutput: { output: "begun <stopped>" }, note: "Stopped" });
    expect(shown.bodies).toMatchObject([{ command: "sleep 30", output: "begun", note: "Stopped" }]);
    const nothing = [{ type: "content" as const, content: { type: "text" as const, text: "" } }];
    expect(view({ content: nothing, rawOutput: { output: "<stopped>" } }).bodies).toMatchObject([{ output: "" }]);
  });

  it("shows a file that was read, from the line where that began", () => {
    const content = [{ type: "content" as const, content: { type: "text" as const, text: "line one\nline two" } }];
    const locations = [{ path: "a.txt", line: 3 }];
    const shown = view({ tool: "read", target: "a.txt", content, locations });
    expect(shown.bodies).toEqual([{ type: "file", path: "a.txt", text: "line one\nline two", firstLine: 3 }]);
    expect(shown.result).toEqual({ text: "2 lines", tone: "plain" });
  });

  it("says what runs while it runs", () => {
    expect(view({ status: "in_progress", target: "sleep 1" })).toMatchObject({
      verb: "Running",
      running: true,
    });
  });

  it("names tools that are in no table, by their title", () => {
    expect(view({ tool: "burrow", title: "Dig a hole", target: "" })).toMatchObject({
      verb: "Used burrow",
      target: "Dig a hole",
    });
    expect(view({ tool: "edit", title: "Edit a file", target: "", status: "pending" })).toMatchObject({
      verb: "Editing",
      target: "",
    });
  });

  it("adds up a run", () => {
    const content = [{ type: "diff" as const, path: "a", oldText: "", newText: "x\n" }];
    const entries = [1, 2].map(() => tool({ tool: "write", content })) as Extract<LogEntry, { kind: "tool_call" }>[];
    expect(toRunSummary(entries.map(toToolView), entries)).toMatchObject({
      verb: "Wrote",
      target: "2 files",
      result: { added: 2, removed: 0 },
    });
  });
});

describe("an ask", () => {
  const ask = { askId: "a", agentRequestId: "q", kind: "question" as const, state: "answered" as const, request: {} };

  it("reads questions, and does not break on anything else", () => {
    const options = [{ label: "A", description: "first" }];
    const request = { questions: [{ text: "Pick one?", options }] };
    expect(readQuestions(request)).toEqual([{ text: "Pick one?", multiple: false, options }]);
    expect(readQuestions({ other: 1 })).toHaveLength(1);
  });

  it("says how it was answered", () => {
    expect(sayAnswer({ ...ask, answer: [["A", "B"], ["C"]] })).toBe("Answered: A, B · C");
    expect(sayAnswer({ ...ask, kind: "permission", answer: "once" })).toBe("Allowed once.");
    expect(sayAnswer({ ...ask, state: "withdrawn" })).toMatch(/Not answered/);
  });
});

describe("the changes of a session", () => {
  it("are listed by file, the latest first, without what failed", () => {
    const diff = (path: string) => [{ type: "diff" as const, path, oldText: "a\n", newText: "b\nc\n" }];
    const changes = toChanges([
      tool({ tool: "edit", content: diff("one.ts") }),
      tool({ tool: "edit", content: diff("two.ts") }),
      tool({ tool: "edit", content: diff("three.ts"), status: "failed" }),
      tool({ tool: "edit", content: diff("one.ts") }),
    ]);
    expect(changes.map(({ path, added, removed }) => [path, added, removed])).toEqual([
      ["one.ts", 4, 2],
      ["two.ts", 2, 1],
    ]);
  });
});

describe("a difference by lines", () => {
  it("finds what was added and removed and numbers both sides", () => {
    const lines = diffLines("a\nb\nc\nd\n", "a\nc\nx\nd\n");
    expect(lines.map(({ kind, text }) => `${kind[0]}${text}`)).toEqual(["sa", "rb", "sc", "ax", "sd"]);
    expect(lines.at(-1)).toMatchObject({ old: 4, new: 4 });
    expect(countChanges(lines)).toEqual({ added: 1, removed: 1 });
  });

  it("counts a new file as added whole", () => {
    expect(countChanges(diffLines("", "a\nb\n"))).toEqual({ added: 2, removed: 0 });
  });

  it("leaves out what is far from a change", () => {
    const old = Array.from({ length: 20 }, (_, index) => `line ${index}`).join("\n");
    const shown = withContext(diffLines(old, old.replace("line 10", "changed")));
    expect(shown.length).toBe(2 + 6 + 2);
    expect(shown[0]).toBeNull();
  });
});

describe("a terminal's output", () => {
  it("loses colours, titles and lines that were written over", () => {
    expect(stripAnsi("\u001b]0;title\u0007a\u001b[1;32mb\u001b[0m\r\n10%\r50%\rdone\n")).toBe("ab\ndone\n");
  });
});

describe("a permission", () => {
  it("is asked for in words, with what it is about, however strange the request", () => {
    const request = { permission: "bash", patterns: ["rm -rf outputs"], always: ["rm *"], more: true };
    expect(readPermission(request)).toEqual({
      permission: "run this command",
      patterns: ["rm -rf outputs"],
      always: ["rm *"],
    });
    expect(readPermission({ permission: "burrow" }).permission).toBe("use burrow");
    expect(readPermission({}).permission).toBe("use a tool");
  });
});
