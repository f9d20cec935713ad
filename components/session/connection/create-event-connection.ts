import { maxFollowedSessions } from "@/server/protocol/limits.ts";
import type { Cursor, FollowedEvent, SessionEvent } from "@/server/protocol/session-events.ts";
import { applySessionEvents, type ViewerState } from "@/server/protocol/viewer-state.ts";
import type { ConnectionStatus, Environment, TabMessage } from "./environment.ts";
import { createLeader, type Leader } from "./leader.ts";

const patienceWithGap = 300;
const longestPatience = 8000;
const maxKept = 12;
const crowded: ConnectionStatus = { state: "crowded" };

/**
 * One tab's part of the browser's one event connection. It keeps the state of each session it shows
 * and takes events only from a stream that began at or before what it already had (`taking`): so a
 * tab that joins, or outlives its leader, can neither miss an entry nor believe that it has it.
 */
export interface EventConnection {
  /** Shown at once from `initial`, which is everything up to its version and perhaps newer entries; live while anybody subscribes. */
  session(sessionId: string, initial: ViewerState): SessionStore;
  status(): ConnectionStatus;
  subscribeStatus(listener: () => void): () => void;
  /** Leaves at once, without waiting for others to notice. */
  close(): void;
}

export interface SessionStore {
  snapshot(): ViewerState;
  subscribe(listener: () => void): () => void;
  /** Hints only: a file that changed while the connection was away is not named afterwards. */
  onFiles(listener: (change: FilesChange) => void): () => void;
}

export interface FilesChange {
  paths: string[];
  all: boolean;
}

interface Followed {
  state: ViewerState;
  taking: boolean;
  /** There was no room for it on the connection. */
  isLeftOut: boolean;
  /** Changed by pages of a log that is still being caught up with: listeners hear of it once, with the last. */
  untold: boolean;
  mending: boolean;
  /** In a row without success: each one waits longer. */
  mends: number;
  listeners: Set<() => void>;
  fileListeners: Set<(change: FilesChange) => void>;
}

export function createEventConnection(environment: Environment): EventConnection {
  const followed = new Map<string, Followed>();
  const statusListeners = new Set<() => void>();
  const changed = new Set<() => void>();
  const lifetime = new AbortController();
  let status: ConnectionStatus = { state: "connecting" };
  let leader: Leader | null = null;

  environment.listen(receive);
  void lead();

  async function lead(): Promise<void> {
    await environment.lead(lifetime.signal);
    if (lifetime.signal.aborted) return;
    leader = createLeader(environment, cursor, tell);
    await leader.run(lifetime.signal);
  }

  /** To all tabs, this one included. */
  function tell(message: TabMessage): void {
    environment.post(message);
    receive(message);
  }

  function receive(message: TabMessage): void {
    leader?.hear(message);
    if (message.type === "who-follows") environment.post(follow(false));
    if (message.type === "opened") begin(message.cursor);
    if (message.type === "event") take(message.event);
    if (message.type === "status") {
      status = message.status;
      notify(statusListeners);
    }
  }

  function cursor(): Cursor {
    const live = [...followed].filter(([, session]) => session.listeners.size > 0);
    return Object.fromEntries(live.map(([id, session]) => [id, startOf(session.state)]));
  }

  function follow(again: boolean): TabMessage {
    return { type: "follow", tab: environment.tab, sessions: cursor(), again };
  }

  function begin(opened: Cursor): void {
    let missing = false;
    const isFull = Object.keys(opened).length >= maxFollowedSessions;
    for (const [id, session] of followed) {
      const from = opened[id];
      session.taking = from !== undefined && from <= session.state.version;
      session.isLeftOut = isFull && from === undefined;
      missing ||= !session.taking && !session.isLeftOut && session.listeners.size > 0;
    }
    notify(statusListeners);
    if (missing && !leader) environment.post(follow(true));
  }

  function take(event: FollowedEvent): void {
    const session = followed.get(event.data.sessionId);
    if (!session?.taking) return;
    if (event.event === "files") for (const listener of session.fileListeners) listener(event.data);
    const before = session.state;
    session.state = applySessionEvents(before, [event]);
    session.untold ||= session.state !== before;
    if (!session.untold || (event.event === "entries" && event.data.more)) return;
    session.untold = false;
    if (session.state.gap) void mend(session);
    else session.mends = 0;
    notify(session.listeners);
  }

  /** A gap closes by itself with the next durable write, or else the entry is asked for once more. */
  async function mend(session: Followed): Promise<void> {
    if (session.mending) return;
    session.mending = true;
    const patience = Math.min(longestPatience, patienceWithGap * 2 ** session.mends);
    await environment.wait(patience, lifetime.signal);
    session.mending = false;
    if (!session.state.gap || session.listeners.size === 0 || lifetime.signal.aborted) return;
    session.mends += 1;
    say(true);
  }

  function say(again: boolean): void {
    const message = follow(again);
    if (leader) leader.hear(message);
    else environment.post(message);
  }

  function notify(listeners: Set<() => void>): void {
    for (const listener of listeners) changed.add(listener);
    environment.schedule(() => {
      const due = [...changed];
      changed.clear();
      for (const listener of due) listener();
    });
  }

  function keepFew(): void {
    for (const [id, session] of followed) {
      if (followed.size <= maxKept) return;
      if (session.listeners.size === 0) followed.delete(id);
    }
  }

  function entryOf(sessionId: string, initial: ViewerState): Followed {
    const known = followed.get(sessionId);
    if (known) return known;
    const created = {
      state: initial,
      taking: false,
      isLeftOut: false,
      untold: false,
      mending: false,
      mends: 0,
      listeners: new Set<() => void>(),
      fileListeners: new Set<(change: FilesChange) => void>(),
    };
    followed.set(sessionId, created);
    return created;
  }

  return {
    session(sessionId, initial) {
      const entry = entryOf(sessionId, initial);
      entry.state = merged(entry.state, initial);
      keepFew();
      return {
        snapshot: () => followed.get(sessionId)?.state ?? initial,
        subscribe(listener) {
          const session = entryOf(sessionId, initial);
          session.listeners.add(listener);
          if (session.listeners.size === 1) {
            session.taking = false;
            say(true);
          }
          return () => {
            session.listeners.delete(listener);
            changed.delete(listener);
            if (session.listeners.size === 0) say(false);
          };
        },
        onFiles(listener) {
          const { fileListeners } = entryOf(sessionId, initial);
          fileListeners.add(listener);
          return () => fileListeners.delete(listener);
        },
      };
    },
    status() {
      const isCrowded = [...followed.values()].some(({ isLeftOut, listeners }) => isLeftOut && listeners.size > 0);
      return isCrowded && status.state === "live" ? crowded : status;
    },
    subscribeStatus(listener) {
      statusListeners.add(listener);
      return () => statusListeners.delete(listener);
    },
    close() {
      environment.post({ type: "leave", tab: environment.tab });
      lifetime.abort();
    },
  };
}

/** `given` holds every entry up to its version, and may hold newer ones. What it says besides is news only if it is newer. */
function merged(state: ViewerState, given: ViewerState): ViewerState {
  const { entries, version, session } = given;
  const all: SessionEvent[] = [{ event: "entries", data: { entries: [...entries], version } }];
  if (session && version > state.version) all.push({ event: "session", data: session });
  return applySessionEvents(state, all);
}

/** With a gap, from before the entries that are still growing, so that they come whole. */
function startOf(state: ViewerState): number {
  if (!state.gap) return state.version;
  const growing = state.entries.filter((entry) => entry.open).map((entry) => entry.version - 1);
  return Math.max(0, Math.min(state.version, ...growing));
}
