import type { LogDelta, LogEntry } from "./log-entry.ts";
import type { SessionEvent, SessionState } from "./session-events.ts";

/**
 * What a viewer holds of one session, and how events change it. Pure and idempotent: an event may
 * come twice, late or again after a reconnect, and the state is the same (ARCHITECTURE.md, invariant 15). `version`
 * is where to go on from after a reconnect: everything up to it is here, and perhaps entries beyond it.
 */
export interface ViewerState {
  readonly version: number;
  /** Ascending by number. */
  readonly entries: readonly LogEntry[];
  readonly session: SessionState | null;
  /** A delta came that does not fit what is here: the entry it belongs to has to come whole. */
  readonly gap: boolean;
}

export const emptyViewerState: ViewerState = { version: 0, entries: [], session: null, gap: false };

/** Returns `state` itself when nothing changed, and keeps entries that did not change. */
export function applySessionEvents(state: ViewerState, events: readonly SessionEvent[]): ViewerState {
  let { version, session, gap } = state;
  let entries: LogEntry[] | null = null;
  const writable = () => {
    entries ??= [...state.entries];
    return entries;
  };
  for (const event of events) {
    if (event.event === "session") session = event.data;
    else if (event.event === "delta") gap = !growEntry(entries ?? state.entries, event.data, writable) || gap;
    else if (event.event === "entries") {
      for (const entry of event.data.entries) gap = !putEntry(entries ?? state.entries, entry, writable) && gap;
      version = Math.max(version, event.data.version);
    }
  }
  if (!entries && version === state.version && session === state.session && gap === state.gap) return state;
  return { version, entries: entries ?? state.entries, session, gap };
}

/** Whether the entry was news. */
function putEntry(known: readonly LogEntry[], entry: LogEntry, writable: () => LogEntry[]): boolean {
  const index = positionOf(known, entry.number);
  const before = known[index];
  if (before?.number !== entry.number) writable().splice(index, 0, entry);
  else if (before.version < entry.version) writable()[index] = entry;
  else return false;
  return true;
}

/** False for a delta that begins beyond what is here: it would leave a hole and waits for the whole entry. */
function growEntry(known: readonly LogEntry[], delta: LogDelta, writable: () => LogEntry[]): boolean {
  const { number, offset, text } = delta;
  const index = positionOf(known, number);
  const entry = known[index];
  if (entry?.number !== number) return false;
  // A final entry came whole: what follows it is a straggler, perhaps of a server that was taken over from.
  if (!isText(entry) || !entry.open) return true;
  const { length } = entry.body.text;
  if (offset > length) return false;
  if (offset + text.length > length) {
    writable()[index] = { ...entry, body: { ...entry.body, text: entry.body.text + text.slice(length - offset) } };
  }
  return true;
}

function isText(entry: LogEntry): entry is Extract<LogEntry, { kind: "agent_message" | "agent_thought" }> {
  return entry.kind === "agent_message" || entry.kind === "agent_thought";
}

/** Where the entry is or would be. Nearly always the last one, so the search begins there. */
function positionOf(entries: readonly LogEntry[], number: number): number {
  const last = entries.at(-1);
  if (!last || last.number < number) return entries.length;
  if (last.number === number) return entries.length - 1;
  let low = 0;
  let high = entries.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.number ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
