import { maxFollowedSessions } from "@/server/protocol/limits.ts";
import type { Cursor, FollowedEvent } from "@/server/protocol/session-events.ts";
import type { ConnectionStatus, Environment, StreamEnd, TabMessage } from "./environment.ts";

const shortestPause = 500;
const longestPause = 8000;
const gatherMilliseconds = 20;
const answersMilliseconds = 150;
const sweepMilliseconds = 5000;

/**
 * The one tab that holds the stream. It follows the union of what all tabs follow, as far as one connection goes, each session from
 * the version of the tab that has come least far, and opens anew whenever a tab needs more than the
 * present stream brings. `told` is what every tab said last, carried on with each event sent: so a
 * stream that is opened again begins exactly where the tabs stand.
 */
export interface Leader {
  hear(message: TabMessage): void;
  /** Runs until `signal`. */
  run(signal: AbortSignal): Promise<void>;
}

export function createLeader(environment: Environment, own: () => Cursor, tell: (message: TabMessage) => void): Leader {
  const told = new Map<string, Cursor>();
  let following: Cursor = {};
  let reopen: AbortController | null = null;
  let failures = 0;
  let lostSince: number | null = null;

  function hear(message: TabMessage): void {
    if (message.type === "leave") forget(message.tab);
    if (message.type !== "follow") return;
    const before = told.get(message.tab);
    const isNews = message.again || !sameKeys(before ?? {}, message.sessions);
    if (isNews) told.delete(message.tab);
    told.set(message.tab, { ...message.sessions });
    if (isNews) reopen?.abort();
  }

  function forget(tab: string): void {
    const gone = told.get(tab);
    told.delete(tab);
    const left = Object.keys(union());
    // A session that nobody follows any more is left at the next opening; only tabs that come need one at once,
    // and those that there was no room for.
    if (gone && (left.length === 0 || left.some((id) => !(id in following)))) reopen?.abort();
  }

  /** As many as one connection takes: tabs that asked last come first, since somebody has just opened them. */
  function union(): Cursor {
    const cursor: Cursor = {};
    for (const sessions of [...told.values()].reverse()) {
      for (const [id, version] of Object.entries(sessions)) {
        if (!(id in cursor) && Object.keys(cursor).length >= maxFollowedSessions) continue;
        cursor[id] = Math.min(version, cursor[id] ?? version);
      }
    }
    return cursor;
  }

  function relay(event: FollowedEvent): void {
    if (event.event === "entries") {
      for (const sessions of told.values()) {
        const known = sessions[event.data.sessionId];
        if (known !== undefined) sessions[event.data.sessionId] = Math.max(known, event.data.version);
      }
    }
    tell({ type: "event", event });
  }

  async function gather(signal: AbortSignal): Promise<void> {
    told.set(environment.tab, own());
    const tabs = await environment.liveTabs();
    if (tabs?.size === 1) return;
    tell({ type: "who-follows" });
    const limit = environment.now() + answersMilliseconds;
    while (!signal.aborted && environment.now() < limit) {
      if (tabs && [...tabs].every((tab) => told.has(tab))) return;
      await environment.wait(10, signal);
    }
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await environment.wait(sweepMilliseconds, signal);
      const tabs = await environment.liveTabs();
      for (const tab of tabs ? told.keys() : []) if (!tabs?.has(tab)) forget(tab);
    }
  }

  function show(status: ConnectionStatus): void {
    tell({ type: "status", status });
  }

  async function stream(signal: AbortSignal): Promise<StreamEnd | "reopen"> {
    const controller = new AbortController();
    reopen = controller;
    const cursor = union();
    following = cursor;
    if (Object.keys(cursor).length === 0) {
      show({ state: "live" });
      await untilAborted(AbortSignal.any([signal, controller.signal]));
      return "reopen";
    }
    // Said before anything of the stream: tabs tell by it which events they may take.
    tell({ type: "opened", cursor });
    const end = await environment.stream({
      cursor,
      onOpen: () => {
        failures = 0;
        lostSince = null;
        show({ state: "live" });
      },
      // A tab that came in the meantime must not be taken along by events of a stream without its past.
      onEvent: (event) => !controller.signal.aborted && relay(event),
      signal: AbortSignal.any([signal, controller.signal]),
    });
    return controller.signal.aborted ? "reopen" : end;
  }

  async function run(signal: AbortSignal): Promise<void> {
    await gather(signal);
    void sweep(signal);
    while (!signal.aborted) {
      const end = await stream(signal);
      if (signal.aborted) return;
      if (end === "reopen") {
        // Several tabs that start together cost one opening.
        await environment.wait(gatherMilliseconds, signal);
        continue;
      }
      if (end === "signed-out") show({ state: "signed-out" });
      else {
        lostSince ??= environment.now();
        show({ state: "lost", since: lostSince });
      }
      await environment.wait(pauseAfter(end), signal);
    }
  }

  function pauseAfter(end: StreamEnd): number {
    if (end === "signed-out") return longestPause;
    const base = end === "stopping" ? shortestPause : Math.min(longestPause, shortestPause * 2 ** failures);
    if (end !== "stopping") failures = Math.min(failures + 1, 8);
    // Jitter: many browsers that lost one server do not come back in one moment.
    return base * (0.75 + environment.random() * 0.5);
  }

  return { hear, run };
}

function sameKeys(one: Cursor, other: Cursor): boolean {
  const keys = Object.keys(other);
  return keys.length === Object.keys(one).length && keys.every((key) => key in one);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
