import { isCompaction, readMessages, type SavedEntry, type SavedMessage } from "./saved-conversation.ts";

export interface SavedConversation {
  /** Oldest first; empty when there is nothing to give back. */
  messages: SavedMessage[];
  /** Older turns were left out: the whole is too long. */
  cut: boolean;
}

/** Enough for any model's context; the rest would only be summarised away. */
export const maxReplayBytes = 4 * 1024 * 1024;

/**
 * What the agent had in mind: from the last compaction on, with the turns that it kept beside its
 * summary. Where that is too long, the newest turns, whole, and always the summary.
 */
export function selectConversation(
  entries: readonly SavedEntry[],
  { complete, maxBytes = maxReplayBytes }: { complete: boolean; maxBytes?: number },
): SavedConversation {
  const messages = readMessages(entries);
  const compaction = messages.findLastIndex(isCompaction);
  const start = compaction < 0 ? 0 : tailStart(messages, compaction);
  const remembered = messages.slice(start);
  const base = compaction < 0 ? [] : messages.slice(compaction, compaction + 2);
  const kept = newestTurns(remembered, maxBytes - sizeOf(base));
  const isWhole = kept.length === remembered.length && (complete || compaction >= 0);
  if (isWhole || base.every((message) => kept.includes(message))) return { messages: kept, cut: !isWhole };
  const rest = kept.filter((message) => !base.includes(message));
  return { messages: [...base, ...rest], cut: true };
}

/** The compaction itself, or the first of the messages that it left as they were. */
function tailStart(messages: readonly SavedMessage[], compaction: number): number {
  const part = messages[compaction]?.parts.find(({ type }) => type === "compaction");
  const tail = part?.tail_start_id;
  if (typeof tail !== "string") return compaction;
  const index = messages.findIndex(({ formerId }) => formerId === tail);
  return index < 0 || index > compaction ? compaction : index;
}

function newestTurns(messages: readonly SavedMessage[], maxBytes: number): SavedMessage[] {
  let kept: SavedMessage[] = [];
  let left = maxBytes;
  for (const turn of turnsOf(messages).reverse()) {
    const size = sizeOf(turn);
    if (size <= left) {
      kept = [...turn, ...kept];
      left -= size;
    } else return kept.length > 0 ? kept : endOf(turn, maxBytes);
  }
  return kept;
}

/** Of a turn that is too long by itself: what was asked, and the last of its answers. */
function endOf(turn: readonly SavedMessage[], maxBytes: number): SavedMessage[] {
  const asked = turn.filter(({ role }) => role === "user");
  let left = maxBytes - sizeOf(asked);
  const kept = new Set(left < 0 ? [] : asked);
  for (const message of turn.filter(({ role }) => role === "assistant").reverse()) {
    left -= sizeOf([message]);
    if (left < 0) break;
    kept.add(message);
  }
  return turn.filter((message) => kept.has(message));
}

function turnsOf(messages: readonly SavedMessage[]): SavedMessage[][] {
  const turns: SavedMessage[][] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last && last[0]?.turnId === message.turnId) last.push(message);
    else turns.push([message]);
  }
  return turns;
}

function sizeOf(messages: readonly SavedMessage[]): number {
  return messages.reduce((total, { parts }) => total + Buffer.byteLength(JSON.stringify(parts)), 0);
}
