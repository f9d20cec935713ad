import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import type { SessionEvent, SessionState } from "../protocol/session-events.ts";
import type { LiveEvent, LogHub } from "./log-hub.ts";
import type { ChangesPage } from "./log-pages.ts";

const maxWaitingEvents = 500;
const maxWaitingCharacters = 512 * 1024;

export interface FollowInput {
  hub: LogHub;
  read: (after: number) => Promise<ChangesPage | null>;
  state: () => Promise<SessionState | null>;
  sessionId: string;
  actor: Actor;
  after: number;
  signal: AbortSignal;
}

/**
 * One viewer. Live events wait in a bounded queue until they are fetched; when there are too many,
 * they are dropped and the log is read after the version that was last handed out instead: a page at a
 * time, each when the one before was taken, and live again with the last.
 *
 * Subscribes before it reads: what happens between the two arrives twice and is idempotent; the other
 * order would lose it. Text that is shown but not yet durable is flushed before the read.
 */
export async function* followLog(input: FollowInput): AsyncGenerator<SessionEvent, void, undefined> {
  const { hub, sessionId, signal } = input;
  let version = Math.max(0, input.after);
  let waiting: SessionEvent[] = [];
  let characters = 0;
  let behind = true;
  let stale = true;
  let wake = () => {};

  const push = (event: SessionEvent, size: number) => {
    if (behind) return;
    waiting.push(event);
    characters += size;
    if (waiting.length > maxWaitingEvents || characters > maxWaitingCharacters) fallBehind();
    wake();
  };
  const fallBehind = () => {
    behind = true;
    waiting = waiting.filter(({ event }) => event === "files").slice(-1);
    characters = 0;
  };
  const leave = hub.subscribe(sessionId, {
    onEvent(event) {
      const joined = joinDelta(waiting.at(-1), event);
      if (joined) waiting[waiting.length - 1] = joined;
      else push(event, sizeOf(event));
    },
    onState() {
      stale = true;
      wake();
    },
    onBehind() {
      fallBehind();
      wake();
    },
  });
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);

  try {
    while (!signal.aborted) {
      if (stale) {
        stale = false;
        const state = await input.state();
        if (!state) throw new AppError("not-found", "There is no such session.");
        if (!signal.aborted) yield { event: "session", data: state };
        continue;
      }
      if (behind) {
        behind = false;
        await hub.flush(sessionId);
        const read = await input.read(version);
        if (!read) throw new AppError("not-found", "There is no such session.");
        version = read.version;
        if (read.more) fallBehind();
        else {
          await hub.told(sessionId);
          waiting = withoutCovered(waiting, version);
        }
        if (!signal.aborted) yield { event: "entries", data: toData(read) };
        continue;
      }
      const next = waiting.shift();
      if (!next) {
        characters = 0;
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
        continue;
      }
      if (next.event === "entries") {
        if (next.data.version <= version) continue;
        version = next.data.version;
      }
      yield next;
    }
  } finally {
    leave();
    signal.removeEventListener("abort", onAbort);
  }
}

function toData({ entries, version, more }: ChangesPage) {
  return more ? { entries, version, more } : { entries, version };
}

/**
 * What was read needs no telling. A delta that came before its entry was written whole belongs to the
 * text before: upon the text that was read it would be put where it never stood.
 */
function withoutCovered(waiting: SessionEvent[], version: number): SessionEvent[] {
  const rewritten = new Set<number>();
  const kept = waiting.toReversed().filter((event) => {
    if (event.event === "delta") return !rewritten.has(event.data.number);
    if (event.event !== "entries" || event.data.version > version) return true;
    for (const { number } of event.data.entries) rewritten.add(number);
    return false;
  });
  return kept.toReversed();
}

/** Deltas that wait grow together, so that a slow viewer is sent less often instead of later and later. */
function joinDelta(last: SessionEvent | undefined, next: LiveEvent): LiveEvent | null {
  if (last?.event !== "delta" || next.event !== "delta" || last.data.number !== next.data.number) return null;
  if (last.data.offset + last.data.text.length !== next.data.offset) return null;
  return { event: "delta", data: { ...last.data, text: last.data.text + next.data.text } };
}

/** Counted once for all viewers. */
const sizes = new WeakMap<LiveEvent, number>();

function sizeOf(event: LiveEvent): number {
  if (event.event === "delta") return event.data.text.length;
  const size = sizes.get(event) ?? JSON.stringify(event.data).length;
  sizes.set(event, size);
  return size;
}
