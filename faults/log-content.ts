import { isDeepStrictEqual } from "node:util";
import type { LogEntry, TextBody, ToolCallBody } from "../server/protocol/log-entry.ts";

export type TurnContent = { kind: string; under: number | null; body: unknown }[];

/**
 * What one turn says, without what differs between two runs: ids, times, places, tries that were given up,
 * and how the text was cut into entries. `under` is the index of the tool call in this list.
 */
export function contentOf(entries: readonly LogEntry[], turnId: string): TurnContent {
  const content: TurnContent = [];
  const indexes = new Map<number, number>();
  const ours = entries.filter((entry) => entry.turnId === turnId);
  for (const entry of withoutRepeats(ours)) {
    if (isPassing(entry)) continue;
    const { number, kind } = entry;
    const body = plain(entry.body) as TextBody & { continues?: number };
    const before = content[indexes.get(body.continues ?? -1) ?? -1]?.body as TextBody | undefined;
    if (before) {
      before.text += body.text;
      indexes.set(number, indexes.get(body.continues ?? -1) ?? -1);
      continue;
    }
    indexes.set(number, content.length);
    content.push({ kind, under: entry.under === null ? null : (indexes.get(entry.under) ?? -1), body });
  }
  return content;
}

/** The agent keeps what a failed try has finished, and sends it along ever after: the model reads more. */
export function wasRetried(entries: readonly LogEntry[], turnIds: readonly string[]): boolean {
  return entries.some((entry) => turnIds.includes(entry.turnId ?? "") && entry.kind === "parts-discard");
}

export function withoutTokensRead(content: TurnContent | undefined): TurnContent | undefined {
  return content?.map((entry) => {
    if (entry.kind !== "usage") return entry;
    const { tokens, ...body } = entry.body as { tokens: Record<string, number> };
    return { ...entry, body: { ...body, tokens: { ...tokens, input: 0 } } };
  });
}

/**
 * A tool that ran before its try was cut has run, and stays in the log; the next try calls it again. The
 * uncut run has the first of the two, instead of the second.
 */
function withoutRepeats(entries: readonly LogEntry[]): LogEntry[] {
  let kept = [...entries];
  for (const retry of entries.filter(({ kind }) => kind === "parts-discard")) {
    const before = kept.slice(0, kept.indexOf(retry)).filter((entry) => !isPassing(entry) && entry.under === null);
    const ranFrom = before.findLastIndex(({ kind }) => kind !== "tool_call" && kind !== "plan") + 1;
    for (const ran of before.slice(ranFrom)) {
      const again = kept.find((entry) => entry.number > retry.number && isSameCall(entry, ran));
      if (!again) continue;
      kept = kept
        .filter((entry) => entry !== ran && entry.under !== ran.number)
        .map((entry) => (entry === again ? ({ ...again, body: ran.body } as LogEntry) : entry));
    }
  }
  return kept;
}

function isSameCall(one: LogEntry, other: LogEntry): boolean {
  if (one.kind !== "tool_call" || other.kind !== "tool_call") return false;
  const call = ({ tool, rawInput }: ToolCallBody) => ({ tool, rawInput });
  return isDeepStrictEqual(call(one.body), call(other.body));
}

function isPassing({ kind, body }: LogEntry): boolean {
  if (kind === "sandbox-phase" || kind === "parts-discard") return true;
  return "discarded" in body && body.discarded === true;
}

const differs = new Set(["toolCallId", "startedAt", "endedAt", "milliseconds", "askId", "agentRequestId", "id", "at"]);
const ids = /\b(?:ses|msg|prt|call|que|per)_[\w-]+/g;
const uuids = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

function plain(value: unknown): unknown {
  if (typeof value === "string") return value.replace(ids, "<id>").replace(uuids, "<uuid>");
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !differs.has(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, name === "continues" ? inner : plain(inner)]));
}
