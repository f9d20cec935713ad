import type { SavedEntry } from "./saved-conversation.ts";

const messageId = (n: number) => `msg_${String(n).padStart(12, "0")}former00000000`;

/** Rows of a log as a turn leaves them, a second apart. */
export function createTestEntries() {
  let number = 0;
  const entries: SavedEntry[] = [];
  const model = { providerId: "scripted", modelId: "scripted" };
  const add = (turn: number, entry: Partial<SavedEntry> & Pick<SavedEntry, "kind">) => {
    number += 1;
    entries.push({
      turnId: `turn-${turn}`,
      key: entry.kind === "prompt" ? null : `prt_${number}`,
      at: 1_700_000_000_000 + number * 1000,
      body: {},
      verbatim: null,
      agentMessageId: messageId(turn * 100),
      model,
      ...entry,
    });
  };
  /** opencode's part, of the turn's nth message after the prompt. */
  const part = (turn: number, step: number, fields: Record<string, unknown>) => ({
    id: `prt_former${number}`,
    messageID: messageId(turn * 100 + step),
    sessionID: "ses_former",
    ...fields,
  });
  const time = { start: 1, end: 2 };
  return {
    entries,
    add,
    messageId,
    prompt: (turn: number, text: string) => add(turn, { kind: "prompt", body: { text } }),
    say: (turn: number, step: number, text: string) =>
      add(turn, { kind: "agent_message", verbatim: part(turn, step, { type: "text", text, time }) }),
    think: (turn: number, step: number, text: string) =>
      add(turn, { kind: "agent_thought", verbatim: part(turn, step, { type: "reasoning", text, time }) }),
    tool(turn: number, step: number, output: string) {
      const state = { status: "completed", input: { command: "ls" }, output, title: "ls", metadata: {}, time };
      const fields = { type: "tool", tool: "bash", callID: `call_${number}`, state };
      add(turn, { kind: "tool_call", verbatim: part(turn, step, fields) });
    },
    compact(turn: number, step: number, { summary, tail }: { summary: string | null; tail?: string }) {
      const fields = { type: "compaction", auto: true, ...(tail ? { tail_start_id: tail } : {}) };
      add(turn, { kind: "memory-note", body: { status: "compacted" }, verbatim: part(turn, step, fields) });
      if (summary === null) return;
      add(turn, { kind: "agent_thought", verbatim: part(turn, step + 1, { type: "text", text: summary, time }) });
    },
  };
}
