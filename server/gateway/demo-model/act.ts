import type { Conversation } from "./conversation.ts";

/** What the demo model does with one request. */
export type Act =
  | { kind: "say"; think?: string; text: string; finish?: "stop" | "length"; pace?: "instant" }
  | { kind: "call"; think?: string; text?: string; tool: string; input: Record<string, unknown> }
  | { kind: "fail"; status: number; error: { message: string; type: string; code: string } }
  /** Begins to speak, perhaps calls a tool, which has a moment to run, then the connection breaks. */
  | { kind: "drop"; think?: string; text: string; call?: { tool: string; input: Record<string, unknown> } }
  /** Accepts the request and stays silent. */
  | { kind: "hang" };

export interface ScriptInput {
  conversation: Conversation;
  match: RegExpExecArray;
  /** How long the demo's own commands pause, in seconds. */
  pause: number;
  /** True the first time that this very request is seen: a try again is told from the first. */
  firstTry: () => boolean;
}

export interface Script {
  /** Looked for in the prompt; the first script of the table that matches plays. */
  pattern: RegExp;
  /** As the demo model offers it to a newcomer; null for what only tests ask for. */
  example: string | null;
  play(input: ScriptInput): Act;
}

export const say = (text: string, more: { think?: string } = {}): Act => ({ kind: "say", text, ...more });
export const call = (
  tool: string,
  input: Record<string, unknown>,
  more: { think?: string; text?: string } = {},
): Act => ({
  kind: "call",
  tool,
  input,
  ...more,
});

/** One act for each step of a turn: as many tools have answered as steps are done. The last one repeats. */
export function step({ results }: Conversation, acts: readonly (() => Act)[]): Act {
  const act = acts[Math.min(results.length, acts.length - 1)];
  if (!act) throw new Error("A script has no acts.");
  return act();
}

/** opencode reports a failed tool by its message; what it was asked for is then not in the result. */
export function lastResult({ results }: Conversation): string {
  return results.at(-1) ?? "";
}
