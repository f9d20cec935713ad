import { describe, expect, test } from "vitest";
import type { SavedMessage } from "./saved-conversation.ts";
import { selectConversation } from "./select-conversation.ts";
import { createTestEntries } from "./test-entries.ts";

const shown = (messages: readonly SavedMessage[]) =>
  messages.map(({ role, parts }) => {
    const words = parts.map((part) => {
      const state = part.state as { output?: string; error?: string } | undefined;
      return `${part.type}:${part.text ?? state?.output ?? state?.error ?? ""}`;
    });
    return `${role} ${words.join(" + ")}`;
  });
const select = (log: ReturnType<typeof createTestEntries>, maxBytes?: number) =>
  selectConversation(log.entries, { complete: true, ...(maxBytes ? { maxBytes } : {}) });

describe("the conversation of a log", () => {
  test("has prompts, thoughts, answers and tool results in their roles, a message for each step", () => {
    const log = createTestEntries();
    log.prompt(1, "look");
    log.think(1, 1, "hm");
    log.tool(1, 1, "a.txt");
    log.say(1, 2, "one file");
    log.prompt(2, "thanks");
    expect(shown(select(log).messages)).toEqual([
      "user text:look",
      "assistant reasoning:hm + tool:a.txt",
      "assistant text:one file",
      "user text:thanks",
    ]);
    expect(select(log).cut).toBe(false);
  });

  test("has long text once, and text and tools that were cut off as far as they got", () => {
    const log = createTestEntries();
    log.prompt(1, "write");
    log.say(1, 1, "whole text");
    log.add(1, { kind: "agent_message", key: log.entries.at(-1)?.key ?? "", body: { text: "text" } });
    log.add(1, { kind: "agent_message", key: "prt_cut", body: { text: "half a " } });
    log.add(1, { kind: "agent_message", key: "prt_cut", body: { text: "word" } });
    const body = {
      tool: "bash",
      toolCallId: "c",
      rawInput: { command: "x" },
      error: "ended",
      rawOutput: { output: "7" },
    };
    log.add(1, { kind: "tool_call", body });
    expect(shown(select(log).messages)).toEqual([
      "user text:write",
      "assistant text:whole text + text:half a word + tool:ended\nOutput until then:\n7",
    ]);
  });

  test("begins at the last compaction, and the prompt stands again before what was answered after it", () => {
    const log = createTestEntries();
    log.prompt(1, "old");
    log.say(1, 1, "older");
    log.prompt(2, "too much");
    log.compact(2, 1, { summary: "what was" });
    log.say(2, 3, "done");
    const { messages, cut } = select(log);
    expect(shown(messages)).toEqual([
      "user compaction:",
      "assistant text:what was",
      "user text:too much",
      "assistant text:done",
    ]);
    expect(messages.map(({ summary }) => summary)).toEqual([false, true, false, false]);
    expect(cut).toBe(false);
  });

  test("keeps the messages that the compaction kept beside its summary", () => {
    const log = createTestEntries();
    log.prompt(1, "old");
    log.say(1, 1, "older");
    log.prompt(2, "kept");
    log.say(2, 1, "kept too");
    log.prompt(3, "go on");
    log.compact(3, 1, { summary: "what was", tail: log.messageId(200) });
    log.say(3, 3, "done");
    expect(shown(select(log).messages).slice(0, 4)).toEqual([
      "user text:kept",
      "assistant text:kept too",
      "user text:go on",
      "user compaction:",
    ]);
  });

  test("leaves out a compaction that came to nothing: the agent would begin it again", () => {
    const log = createTestEntries();
    log.prompt(1, "old");
    log.say(1, 1, "older");
    log.prompt(2, "too much");
    log.compact(2, 1, { summary: null });
    log.prompt(3, "again");
    expect(shown(select(log).messages)).toEqual([
      "user text:old",
      "assistant text:older",
      "user text:too much",
      "user text:again",
    ]);
  });
});

describe("a conversation that is too long", () => {
  const long = (turns: number) => {
    const log = createTestEntries();
    for (let turn = 1; turn <= turns; turn++) {
      log.prompt(turn, `prompt ${turn}`);
      log.say(turn, 1, "x".repeat(1000));
    }
    return log;
  };

  test("loses its oldest turns, whole", () => {
    const { messages, cut } = select(long(10), 3600);
    expect(shown(messages).filter((line) => line.startsWith("user"))).toEqual([
      "user text:prompt 8",
      "user text:prompt 9",
      "user text:prompt 10",
    ]);
    expect(messages).toHaveLength(6);
    expect(cut).toBe(true);
  });

  test("keeps the summary of a compaction whatever else goes", () => {
    const log = createTestEntries();
    log.prompt(1, "too much");
    log.compact(1, 1, { summary: "what was" });
    log.say(1, 3, "y".repeat(3000));
    log.prompt(2, "next");
    log.say(2, 1, "short");
    expect(shown(select(log, 1000).messages)).toEqual([
      "user compaction:",
      "assistant text:what was",
      "user text:next",
      "assistant text:short",
    ]);
  });

  test("of one turn keeps the prompt and the end", () => {
    const log = createTestEntries();
    log.prompt(1, "work");
    for (let step = 1; step <= 5; step++) log.tool(1, step, `${step}`.repeat(500));
    const { messages, cut } = select(log, 1800);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant"]);
    expect(JSON.stringify(messages)).toContain("55555");
    expect(cut).toBe(true);
  });

  test("is known as cut when older entries were not even read, unless a compaction covers them", () => {
    const log = long(1);
    expect(selectConversation(log.entries, { complete: false }).cut).toBe(true);
    log.compact(1, 5, { summary: "all" });
    expect(selectConversation(log.entries, { complete: false }).cut).toBe(false);
  });
});
