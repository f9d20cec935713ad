import { z } from "zod";
import { maxPromptBytes, tooLongPrompt } from "@/server/protocol/limits.ts";

/**
 * What a person wrote and the server has not yet confirmed, kept in the browser's storage: a reload
 * or a lost connection loses nothing. Each item keeps its key, so that sending it again, also from
 * another tab, makes one turn.
 */
const outboxItem = z.object({
  key: z.string(),
  text: z.string(),
  /** Why the last try failed, in words for the person; null while it is under way. */
  problem: z.string().nullable(),
  /** Known once the server confirmed; kept until the log or the queue shows the turn. */
  turnId: z.string().nullable(),
});
export type OutboxItem = z.infer<typeof outboxItem>;

export interface Storage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export function promptProblem(text: string): string | null {
  if (text.trim() === "") return "empty";
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= maxPromptBytes) return null;
  return tooLongPrompt(`${Math.ceil(bytes / 1024)} KB`);
}

export function readOutbox(storage: Storage, sessionId: string): OutboxItem[] {
  return read(storage, `dormouse:outbox:${sessionId}`, z.array(outboxItem)) ?? [];
}

export function writeOutbox(storage: Storage, sessionId: string, items: readonly OutboxItem[]): void {
  write(storage, `dormouse:outbox:${sessionId}`, items.length > 0 ? items : null);
}

export function readDraft(storage: Storage, sessionId: string): string {
  return read(storage, `dormouse:draft:${sessionId}`, z.string()) ?? "";
}

export function writeDraft(storage: Storage, sessionId: string, text: string): void {
  write(storage, `dormouse:draft:${sessionId}`, text || null);
}

/** `written` is what stands in the field as the page begins to listen; a browser may have put the draft there itself. */
export function joinDraft(kept: string, written: string): string {
  if (written.startsWith(kept)) return written;
  return written === "" ? kept : `${kept}\n${written}`;
}

/** What the log or the queue shows by now need not be kept here. */
export function withoutShown(items: readonly OutboxItem[], shownTurnIds: ReadonlySet<string>): readonly OutboxItem[] {
  const left = items.filter((item) => item.turnId === null || !shownTurnIds.has(item.turnId));
  return left.length === items.length ? items : left;
}

function read<Value>(storage: Storage, key: string, schema: z.ZodType<Value>): Value | null {
  try {
    return schema.safeParse(JSON.parse(storage.getItem(key) ?? "null")).data ?? null;
  } catch {
    return null;
  }
}

/** A full or forbidden storage costs the safety net, not the message. */
function write(storage: Storage, key: string, value: unknown): void {
  try {
    if (value === null) storage.removeItem(key);
    else storage.setItem(key, JSON.stringify(value));
  } catch {}
}
