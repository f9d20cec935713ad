import { z } from "zod";

const content = z.union([
  z.string(),
  z.null(),
  z.array(z.object({ type: z.string(), text: z.string().optional() }).loose()),
]);
const message = z
  .object({
    role: z.string(),
    content: content.optional(),
    tool_calls: z
      .array(z.object({ id: z.string().optional(), function: z.object({ name: z.string(), arguments: z.string() }) }))
      .optional(),
    tool_call_id: z.string().optional(),
  })
  .loose();
export const chatRequest = z
  .object({
    model: z.string().default("demo"),
    stream: z.boolean().default(false),
    messages: z.array(message).min(1),
    tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
  })
  .loose();
export type ChatRequest = z.infer<typeof chatRequest>;

/** What a script may know: everything comes from the request, so the same request gets the same answer. */
export interface Conversation {
  purpose: "turn" | "title" | "summary";
  /** The words of the last user message. */
  prompt: string;
  /** What was said before it, oldest first; tool results are not in it. */
  earlier: { role: "user" | "assistant"; text: string }[];
  /** Results of the tools called since the last user message, each call once: how far a script has got. */
  results: string[];
  /** Names of the tools that may be called. */
  tools: ReadonlySet<string>;
  /** An absolute path in the session's directory, as opencode's tools want it; relative when it is unknown. */
  pathOf(relative: string): string;
}

export function readConversation({ messages, tools }: ChatRequest): Conversation {
  const system = messages
    .filter(({ role }) => role === "system")
    .map(textOf)
    .join("\n");
  const last = messages.findLastIndex(({ role }) => role === "user");
  const directory = /^\s*Working directory: (\/.*?)\s*$/m.exec(system)?.[1];
  return {
    purpose: purposeOf(system, tools.length),
    prompt: last === -1 ? "" : textOf(messages[last]),
    earlier: messages.slice(0, Math.max(last, 0)).flatMap((entry) => {
      const text = textOf(entry);
      return text && (entry.role === "user" || entry.role === "assistant") ? [{ role: entry.role, text }] : [];
    }),
    results: resultsOf(messages.slice(last + 1)),
    tools: new Set(tools.map((tool) => tool.function.name)),
    pathOf: (relative) => (directory ? `${directory.replace(/\/$/, "")}/${relative}` : relative),
  };
}

/** opencode sends along what a try had called before its connection broke: cut off, or done and then called again. */
function resultsOf(messages: ChatRequest["messages"]): string[] {
  const calls = new Map(
    messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id, function: made }) => [id, made])),
  );
  const results = messages
    .filter(({ role }) => role === "tool")
    .map((entry) => ({
      text: textOf(entry),
      call: JSON.stringify(calls.get(entry.tool_call_id) ?? entry.tool_call_id),
    }))
    .filter(({ text }) => !cutOff.test(text));
  return results.filter(({ call }, index) => call !== results[index + 1]?.call).map(({ text }) => text);
}

const cutOff = /^\W*Tool execution (?:aborted|was interrupted)\W*$/;

// opencode asks for titles and summaries with prompts of its own and without tools.
function purposeOf(system: string, toolCount: number): Conversation["purpose"] {
  if (toolCount > 0) return "turn";
  if (/\btitle generator\b/i.test(system)) return "title";
  return /\bsummar(y|ies|ize|ization)\b/i.test(system) ? "summary" : "turn";
}

/** Without the reminders that opencode adds to what a person wrote. */
function textOf(entry: ChatRequest["messages"][number] | undefined): string {
  const raw = entry?.content ?? "";
  const text = typeof raw === "string" ? raw : raw.map((part) => part.text ?? "").join("\n");
  return text.replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, "").trim();
}
