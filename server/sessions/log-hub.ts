import type { SessionEvent } from "../protocol/session-events.ts";

export type LiveEvent = Extract<SessionEvent, { event: "entries" | "delta" | "files" }>;

/** A viewer of this process, as the hub sees it. Calls return at once. */
export interface LogSubscriber {
  /** The event is shared by all viewers: it must not be changed. Entries come without text that went out as deltas. */
  onEvent(event: LiveEvent): void;
  onState(): void;
  /** Something was written elsewhere, or may have been: read the log. */
  onBehind(): void;
}

/** Neither call throws: a writer that failed tells whoever uses it. */
export interface HubWriter {
  flush(): Promise<void>;
  /** Resolves once the batch that is being written, if any, was told to viewers. */
  told(): Promise<void>;
}

/** Where writers and viewers of one process meet. Holds nothing: what must last is in the log. */
export interface LogHub {
  subscribe(sessionId: string, subscriber: LogSubscriber): () => void;
  /** For each viewer of the session, in the order of subscription. */
  tell(sessionId: string, what: (subscriber: LogSubscriber) => void): void;
  tellAll(what: (subscriber: LogSubscriber) => void): void;
  /** Text may be shown before it is durable; a viewer that arrives needs it in the log first. */
  addWriter(sessionId: string, writer: HubWriter): () => void;
  flush(sessionId: string): Promise<void>;
  /** Resolves once every batch that is in the log by now was told to viewers too. */
  told(sessionId: string): Promise<void>;
  /** Hears of the first viewer of a session, and of the last one that leaves. */
  onFollowed(listener: (sessionId: string, followed: boolean) => void): void;
  isFollowed(sessionId: string): boolean;
}

export function createLogHub(): LogHub {
  const subscribers = new Map<string, Set<LogSubscriber>>();
  const writers = new Map<string, Set<HubWriter>>();
  const listeners: ((sessionId: string, followed: boolean) => void)[] = [];

  return {
    subscribe(sessionId, subscriber) {
      const first = !subscribers.has(sessionId);
      const leave = join(subscribers, sessionId, subscriber);
      if (first) for (const listener of listeners) listener(sessionId, true);
      return () => {
        leave();
        if (!subscribers.has(sessionId)) for (const listener of listeners) listener(sessionId, false);
      };
    },
    tell(sessionId, what) {
      for (const subscriber of subscribers.get(sessionId) ?? []) what(subscriber);
    },
    tellAll(what) {
      for (const group of subscribers.values()) for (const subscriber of group) what(subscriber);
    },
    addWriter: (sessionId, writer) => join(writers, sessionId, writer),
    async flush(sessionId) {
      await Promise.all([...(writers.get(sessionId) ?? [])].map((writer) => writer.flush()));
    },
    async told(sessionId) {
      await Promise.all([...(writers.get(sessionId) ?? [])].map((writer) => writer.told()));
    },
    onFollowed(listener) {
      listeners.push(listener);
    },
    isFollowed: (sessionId) => subscribers.has(sessionId),
  };
}

function join<Member>(groups: Map<string, Set<Member>>, key: string, member: Member): () => void {
  const group = groups.get(key) ?? new Set();
  groups.set(key, group.add(member));
  return () => {
    group.delete(member);
    if (group.size === 0 && groups.get(key) === group) groups.delete(key);
  };
}
