import { describe, expect, it } from "vitest";
import { maxFollowedSessions } from "@/server/protocol/limits.ts";
import type { LogEntry } from "@/server/protocol/log-entry.ts";
import type { Cursor, FollowedEvent } from "@/server/protocol/session-events.ts";
import { emptyViewerState } from "@/server/protocol/viewer-state.ts";
import { createEventConnection, type EventConnection } from "./create-event-connection.ts";
import type { Environment, StreamEnd, TabMessage } from "./environment.ts";

/**
 * A browser with tabs, locks and channels, and a server with a session log, in memory. Messages and
 * events travel in order and asynchronously, as they do for real.
 */
function createWorld() {
  const tabs = new Map<string, (message: TabMessage) => void>();
  const waiting: { tab: string; grant: () => void }[] = [];
  const logs = new Map<string, { version: number; entries: LogEntry[] }>();
  const streams = new Set<{ cursor: Cursor; send: (event: FollowedEvent) => void; end: (how: StreamEnd) => void }>();
  let leaderTab: string | null = null;
  let opened = 0;
  let refusing = false;

  const logOf = (id: string) => {
    if (!logs.has(id)) logs.set(id, { version: 0, entries: [] });
    return logs.get(id) as { version: number; entries: LogEntry[] };
  };
  const changes = (sessionId: string, after: number): FollowedEvent => {
    const { version, entries } = logOf(sessionId);
    return { event: "entries", data: { sessionId, version, entries: entries.filter((e) => e.version > after) } };
  };
  /** As a stream begins: two entries a page, in the order of their versions. */
  const catchUp = (sessionId: string, after: number): FollowedEvent[] => {
    const { version, entries } = logOf(sessionId);
    const changed = entries.filter((entry) => entry.version > after).sort((one, other) => one.version - other.version);
    const pages: FollowedEvent[] = [];
    while (changed.length > 2) {
      const page = changed.splice(0, 2);
      const data = { sessionId, version: page.at(-1)?.version ?? 0, entries: page, more: true };
      pages.push({ event: "entries", data });
    }
    return [...pages, { event: "entries", data: { sessionId, version, entries: changed } }];
  };
  let muted = false;
  const broadcast = (sessionId: string, event: FollowedEvent) => {
    if (muted) return;
    for (const stream of streams) if (sessionId in stream.cursor) stream.send(event);
  };
  const grantNext = () => {
    if (leaderTab) return;
    const next = waiting.shift();
    leaderTab = next?.tab ?? null;
    next?.grant();
  };

  function openTab(name: string): { connection: EventConnection; crash: () => void } {
    const life = new AbortController();
    const environment: Environment = {
      tab: name,
      listen: (hear) => tabs.set(name, hear),
      post(message) {
        if (life.signal.aborted) return;
        const copy = structuredClone(message);
        for (const [other, hear] of tabs) if (other !== name) queueMicrotask(() => tabs.has(other) && hear(copy));
      },
      schedule: (work) => work(),
      lead: () =>
        new Promise((grant) => {
          waiting.push({ tab: name, grant });
          queueMicrotask(grantNext);
        }),
      liveTabs: async () => new Set(tabs.keys()),
      stream: ({ cursor, onOpen, onEvent, signal }) =>
        new Promise((resolve) => {
          if (refusing || signal.aborted || life.signal.aborted) return resolve("lost");
          opened += 1;
          const stream = {
            cursor,
            send: (event: FollowedEvent) => !signal.aborted && !life.signal.aborted && onEvent(structuredClone(event)),
            end(how: StreamEnd) {
              streams.delete(stream);
              resolve(how);
            },
          };
          streams.add(stream);
          signal.addEventListener("abort", () => stream.end("lost"));
          life.signal.addEventListener("abort", () => stream.end("lost"));
          onOpen();
          for (const [id, version] of Object.entries(cursor)) catchUp(id, version).forEach(stream.send);
        }),
      // What is dead never goes on.
      wait: (_milliseconds, signal) =>
        new Promise((resolve) => (signal.aborted ? resolve() : setTimeout(() => !life.signal.aborted && resolve(), 0))),
      now: () => Date.now(),
      random: () => 0.5,
    };
    const connection = createEventConnection(environment);
    return {
      connection,
      /** As a killed renderer: says nothing; only the locks are freed. */
      crash() {
        tabs.delete(name);
        life.abort();
        if (leaderTab === name) leaderTab = null;
        waiting.splice(0, waiting.length, ...waiting.filter(({ tab }) => tab !== name));
        grantNext();
      },
    };
  }

  return {
    openTab,
    openedStreams: () => opened,
    liveStreams: () => streams.size,
    followedNow: () => [...streams].flatMap((stream) => Object.keys(stream.cursor)).sort(),
    append(sessionId: string, text: string, open = false) {
      const log = logOf(sessionId);
      log.version += 1;
      const number = log.entries.length + 1;
      log.entries.push({ ...base, number, version: log.version, open, body: { text } });
      broadcast(sessionId, changes(sessionId, log.version - 1));
      return number;
    },
    /** A delta to whoever listens; the durable write is not told whole, as while text grows. */
    grow(sessionId: string, number: number, text: string) {
      const log = logOf(sessionId);
      const entry = log.entries[number - 1] as LogEntry & { body: { text: string } };
      const offset = entry.body.text.length;
      log.version += 1;
      const body = { text: entry.body.text + text };
      log.entries[number - 1] = { ...entry, version: log.version, body } as LogEntry;
      broadcast(sessionId, { event: "delta", data: { sessionId, number, offset, text } });
    },
    mute(value: boolean) {
      muted = value;
    },
    raiseVersion(sessionId: string) {
      broadcast(sessionId, { event: "entries", data: { sessionId, version: logOf(sessionId).version, entries: [] } });
    },
    drop(how: StreamEnd) {
      for (const stream of [...streams]) stream.end(how);
    },
    refuse(value: boolean) {
      refusing = value;
    },
    textsOf: (sessionId: string) => logOf(sessionId).entries.map((e) => (e.body as { text: string }).text),
  };
}

const base = { turnId: "t", kind: "agent_message" as const, under: null, at: "2026-01-01T00:00:00Z" };

function show(connection: EventConnection, sessionId: string) {
  const store = connection.session(sessionId, emptyViewerState);
  const stop = store.subscribe(() => {});
  return { texts: () => store.snapshot().entries.map((e) => (e.body as { text: string }).text), stop };
}

async function eventually(check: () => void): Promise<void> {
  for (let round = 0; ; round += 1) {
    try {
      return check();
    } catch (error) {
      if (round > 400) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

describe("the event connection of a browser", () => {
  it("is one stream for eight tabs, and all of them see everything", async () => {
    const world = createWorld();
    world.append("s", "first");
    const views = Array.from({ length: 8 }, (_, index) => show(world.openTab(`tab${index}`).connection, "s"));
    await eventually(() => {
      for (const view of views) expect(view.texts()).toEqual(["first"]);
    });
    world.append("s", "second");
    await eventually(() => {
      for (const view of views) expect(view.texts()).toEqual(["first", "second"]);
    });
    expect(world.liveStreams()).toBe(1);
  });

  it("follows the union of what the tabs show, and leaves what nobody shows any more", async () => {
    const world = createWorld();
    const one = world.openTab("one");
    const a = show(one.connection, "a");
    const two = world.openTab("two");
    const b = show(two.connection, "b");
    await eventually(() => expect(world.followedNow()).toEqual(["a", "b"]));
    world.append("a", "to a");
    world.append("b", "to b");
    await eventually(() => expect([a.texts(), b.texts()]).toEqual([["to a"], ["to b"]]));
    b.stop();
    await eventually(() => expect(world.followedNow()).toEqual(["a"]));
  });

  it("gives a tab that joins late all that it missed, and takes nothing for granted before", async () => {
    const world = createWorld();
    show(world.openTab("one").connection, "s");
    for (let n = 0; n < 5; n += 1) world.append("s", `entry ${n}`);
    const late = show(world.openTab("late").connection, "s");
    world.append("s", "while it joins");
    await eventually(() => expect(late.texts()).toEqual(world.textsOf("s")));
  });

  it("tells of a long log once, when it has caught up with all of its pages", async () => {
    const world = createWorld();
    for (let n = 1; n <= 9; n += 1) world.append("s", `entry ${n}`);
    const store = world.openTab("one").connection.session("s", {
      ...emptyViewerState,
      entries: [{ ...base, number: 9, version: 9, open: false, body: { text: "entry 9" } }],
    });
    const shown: number[] = [store.snapshot().entries.length];
    store.subscribe(() => shown.push(store.snapshot().entries.length));
    await eventually(() => expect(shown).toEqual([1, 9]));
    expect(store.snapshot().version).toBe(9);
  });

  it("passes to another tab when the leading one dies, and loses nothing of what happens in between", async () => {
    const world = createWorld();
    const first = world.openTab("first");
    show(first.connection, "s");
    const second = show(world.openTab("second").connection, "s");
    const third = show(world.openTab("third").connection, "t");
    await eventually(() => expect(world.followedNow()).toEqual(["s", "t"]));
    world.append("s", "before");
    await eventually(() => expect(second.texts()).toEqual(["before"]));
    first.crash();
    world.append("s", "between");
    world.append("t", "between");
    await eventually(() => {
      expect(second.texts()).toEqual(["before", "between"]);
      expect(third.texts()).toEqual(["between"]);
    });
    expect(world.liveStreams()).toBe(1);
  });

  it("says that it is lost, tries until the server answers, and then has everything", async () => {
    const world = createWorld();
    const { connection } = world.openTab("one");
    const view = show(connection, "s");
    await eventually(() => expect(connection.status().state).toBe("live"));
    world.refuse(true);
    world.drop("lost");
    await eventually(() => expect(connection.status().state).toBe("lost"));
    world.append("s", "missed");
    world.refuse(false);
    await eventually(() => expect(view.texts()).toEqual(["missed"]));
    expect(connection.status().state).toBe("live");
  });

  it("asks again for an entry whose deltas it did not fit", async () => {
    const world = createWorld();
    const view = show(world.openTab("one").connection, "s");
    await eventually(() => expect(world.liveStreams()).toBe(1));
    const number = world.append("s", "Hel", true);
    await eventually(() => expect(view.texts()).toEqual(["Hel"]));
    const openings = world.openedStreams();
    // One delta is lost on the way, and only the version tells of its durable write.
    world.mute(true);
    world.grow("s", number, "lo ");
    world.mute(false);
    world.raiseVersion("s");
    world.grow("s", number, "world");
    await eventually(() => expect(view.texts()).toEqual(["Hello world"]));
    expect(world.openedStreams()).toBeGreaterThan(openings);
  });

  it("follows the sessions of the tabs that came last when there are more than it can, and says so to the others", async () => {
    const world = createWorld();
    const open = (index: number) => {
      const { connection, crash } = world.openTab(`tab${index}`);
      return { connection, crash, id: `s${index}`, ...show(connection, `s${index}`) };
    };
    const first = open(0);
    await eventually(() => expect(world.followedNow()).toEqual(["s0"]));
    const others = Array.from({ length: maxFollowedSessions }, (_, index) => open(index + 1));
    await eventually(() => {
      expect(world.followedNow()).toEqual(others.map(({ id }) => id).sort());
      expect(first.connection.status()).toEqual({ state: "crowded" });
      for (const { connection } of others) expect(connection.status()).toEqual({ state: "live" });
    });
    // Nobody who is left out asks again and again.
    const openings = world.openedStreams();
    for (const { id } of others) world.append(id, "news");
    await eventually(() => {
      for (const { texts } of others) expect(texts()).toEqual(["news"]);
    });
    expect(world.openedStreams()).toBe(openings);
    world.append("s0", "waiting");
    others[0]?.connection.close();
    await eventually(() => {
      expect(first.texts()).toEqual(["waiting"]);
      expect(first.connection.status()).toEqual({ state: "live" });
    });
  });

  it("leaves every tab with the server's state after any mixture of joins, deaths and drops", async () => {
    const world = createWorld();
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 48271) % 2147483647;
      return seed % below;
    };
    const alive: { crash: () => void; id: string; texts: () => string[] }[] = [];
    for (let step = 0; step < 300; step += 1) {
      const act = random(10);
      if (act < 2 && alive.length < 8) {
        const tab = world.openTab(`tab${step}`);
        const id = random(2) ? "a" : "b";
        alive.push({ crash: tab.crash, id, texts: show(tab.connection, id).texts });
      } else if (act === 2 && alive.length > 1) alive.splice(random(alive.length), 1)[0]?.crash();
      else if (act === 3) world.drop(random(2) ? "lost" : "stopping");
      else world.append(random(2) ? "a" : "b", `entry ${step}`);
      if (random(3) === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await eventually(() => {
      for (const tab of alive) expect(tab.texts()).toEqual(world.textsOf(tab.id));
    });
    expect(world.liveStreams()).toBe(1);
  });
});
