import type { LogEntry, TextBody } from "../server/protocol/log-entry.ts";

export type TurnContent = { kind: string; under: number | null; body: unknown }[];

/**
 * What one turn says, without what differs between two runs: ids, times, places, tries that were given up,
 * and how the text was cut into entries. `under` is the place of the tool call in this list.
 */
export function contentOf(entries: readonly LogEntry[], turnId: string): TurnContent {
  const content: TurnContent = [];
  const placeOf = new Map<number, number>();
  for (const entry of entries) {
    if (entry.turnId !== turnId || isPassing(entry)) continue;
    const { number, kind } = entry;
    const body = plain(entry.body) as TextBody & { continues?: number };
    const before = content[placeOf.get(body.continues ?? -1) ?? -1]?.body as TextBody | undefined;
    if (before) {
      before.text += body.text;
      placeOf.set(number, placeOf.get(body.continues ?? -1) ?? -1);
      continue;
    }
    placeOf.set(number, content.length);
    content.push({ kind, under: entry.under === null ? null : (placeOf.get(entry.under) ?? -1), body });
  }
  return content;
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
