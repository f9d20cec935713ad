import { describe, expect, test } from "vitest";
import type { EntryBody, ToolCallBody } from "../protocol/log-entry.ts";
import { upgradeEntryBody } from "./stored-entry.ts";
import { toolCallBody } from "./tool-call.ts";

const old = (body: Partial<ToolCallBody>): ToolCallBody => ({
  toolCallId: "call",
  tool: "bash",
  title: "",
  kind: "execute",
  status: "completed",
  content: [],
  locations: [],
  ...body,
});
const part = (tool: string, state: Record<string, unknown>) =>
  toolCallBody({ id: "prt_1", messageID: "msg_1", sessionID: "ses_1", type: "tool", callID: "call", tool, state });
const printed = "begun\n\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>";
const file =
  "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n3: line one\n4: line two\n\n(End of file - total 4 lines)\n</content>";
const text = (said: string) => ({ type: "content", content: { type: "text", text: said } });

describe("a tool call", () => {
  test("carries what a command printed apart from what opencode says about its end", () => {
    const body = part("bash", { status: "completed", input: { command: "sleep 30" }, output: printed });
    expect(body).toMatchObject({ target: "sleep 30", content: [text("begun")], note: "User aborted the command" });
    expect(body.rawOutput).toEqual({ output: printed });
    expect(part("bash", { status: "completed", input: {}, output: "plain" })).toMatchObject({ content: [] });
  });

  test("carries a file without opencode's frame and numbers", () => {
    const body = part("read", { status: "completed", input: { filePath: "/w/a.txt", offset: 2 }, output: file });
    expect(body).toMatchObject({
      target: "/w/a.txt",
      title: "Read a.txt",
      content: [text("line one\nline two")],
      locations: [{ path: "/w/a.txt", line: 3 }],
    });
  });

  test("of a patch names the files that it changed", () => {
    const change = (name: string) => ({ filePath: name, before: "a", after: "b" });
    const state = { status: "completed", input: { patchText: "…" } };
    expect(part("apply_patch", { ...state, metadata: { files: [change("/w/a")] } })).toMatchObject({
      title: "Apply a patch",
      kind: "edit",
      target: "/w/a",
    });
    const many = { ...state, metadata: { files: [change("/w/a"), change("/w/b"), change("/w/c")] } };
    expect(part("apply_patch", many).target).toBe("/w/a and 2 more");
  });
});

describe("an entry that was stored before", () => {
  test("is read as it would be written today", () => {
    const command = old({ rawInput: { command: "sleep 30" }, rawOutput: { output: printed } });
    expect(upgradeEntryBody("tool_call", command)).toEqual({
      ...command,
      target: "sleep 30",
      content: [text("begun")],
      note: "User aborted the command",
    });
    const read = old({ tool: "read", rawInput: { filePath: "/w/a.txt" }, rawOutput: { output: file } });
    expect(upgradeEntryBody("tool_call", read)).toMatchObject({
      target: "/w/a.txt",
      content: [text("line one\nline two")],
      locations: [{ path: "/w/a.txt", line: 3 }],
    });
  });

  test("keeps what it held to show", () => {
    const diff = { type: "diff" as const, path: "/w/a", oldText: "a", newText: "b" };
    const edit = old({ tool: "edit", rawInput: { filePath: "/w/a", newString: "b" }, content: [diff] });
    expect(upgradeEntryBody("tool_call", edit)).toMatchObject({ target: "/w/a", content: [diff] });
  });

  test("asks in our words, and twice is as good as once", () => {
    const options = [{ label: "A", description: "first" }];
    const ask: EntryBody<"ask"> = {
      askId: "a",
      agentRequestId: "q",
      kind: "question",
      state: "pending",
      request: { id: "que_1", sessionID: "ses_1", questions: [{ question: "Pick one?", header: "Pick", options }] },
    };
    const upgraded = upgradeEntryBody("ask", ask);
    expect(upgraded).toMatchObject({ request: { questions: [{ text: "Pick one?", multiple: false, options }] } });
    expect(upgradeEntryBody("ask", upgraded)).toEqual(upgraded);
  });

  test("is left alone when it was written today, or is of another kind", () => {
    const today = old({ target: "", rawOutput: { output: printed } });
    expect(upgradeEntryBody("tool_call", today)).toBe(today);
    const said = { text: "hello" };
    expect(upgradeEntryBody("agent_message", said)).toBe(said);
  });
});
