import { afterEach, describe, expect, test } from "vitest";
import { causes } from "../protocol/causes.ts";
import type { NumberedEvent } from "../protocol/sidecar.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { createEventBus, type EventBus } from "./event-bus.ts";

const timings = {
  connectMilliseconds: 500,
  firstPauseMilliseconds: 1,
  maxPauseMilliseconds: 4,
  awayMilliseconds: 2_000,
};
const open: EventBus[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((bus) => bus.close()));
});

describe("the event bus", () => {
  test("brings the root's events and its subagents', and nobody else's", async () => {
    const source = createSource();
    const events = read(createBus(source).subscribe({ root: "ses_root", after: 0 }), 5);
    source.add("ses_root", "session.status");
    source.add("ses_other", "session.status");
    source.add("ses_child", "session.created", { info: { id: "ses_child", parentID: "ses_root" } });
    source.add("ses_child", "message.part.delta");
    source.add("ses_grandchild", "session.created", { info: { id: "ses_grandchild", parentID: "ses_child" } });
    source.add("ses_stranger", "session.created", { info: { id: "ses_stranger", parentID: "ses_other" } });
    source.add("ses_root", "session.idle");
    expect(await events).toEqual([1, 3, 4, 5, 7]);
  });

  test("knows subagents that began before, by name or by their tool call", async () => {
    const source = createSource();
    const events = read(createBus(source).subscribe({ root: "ses_root", children: ["ses_old"], after: 0 }), 3);
    source.add("ses_old", "session.status");
    const state = { metadata: { sessionId: "ses_resumed" } };
    source.add("ses_root", "message.part.updated", { part: { type: "tool", tool: "task", state } });
    source.add("ses_resumed", "session.status");
    expect(await events).toEqual([1, 2, 3]);
  });

  test("starts in the past, and goes on with what comes", async () => {
    const source = createSource();
    const bus = createBus(source);
    for (let count = 0; count < 20; count++) source.add("ses_root", "session.status");
    await read(bus.subscribe({ root: "ses_root", after: 10 }), 10);
    const late = read(bus.subscribe({ root: "ses_root", after: 3 }), 19);
    source.add("ses_root", "session.status");
    source.add("ses_root", "session.idle");
    expect(await late).toEqual(range(4, 22));
  });

  test("loses and repeats nothing when the connection is cut again and again", async () => {
    const source = createSource();
    const events = read(createBus(source).subscribe({ root: "ses_root", after: 0 }), 200);
    for (let count = 1; count <= 200; count++) {
      source.add("ses_root", "message.part.delta");
      if (count % 17 === 0) source.cut();
      if (count % 10 === 0) await new Promise(setImmediate);
    }
    expect(await events).toEqual(range(1, 200));
  });

  test("loses nothing for a subscriber that is slower than its queue, and holds the others up for nothing", async () => {
    const source = createSource();
    const bus = createBus(source, { maxQueued: 5 });
    const slow = bus.subscribe({ root: "ses_root", after: 0 })[Symbol.asyncIterator]();
    const quick = read(bus.subscribe({ root: "ses_root", after: 0 }), 300);
    for (let count = 1; count <= 300; count++) source.add("ses_root", "message.part.delta");
    expect(await quick).toEqual(range(1, 300));
    const numbers: number[] = [];
    while (numbers.length < 300) numbers.push(numberOf((await slow.next()).value));
    expect(numbers).toEqual(range(1, 300));
    source.add("ses_root", "session.idle");
    expect(numberOf((await slow.next()).value)).toBe(301);
  });

  test("says where the sidecar no longer had what follows", async () => {
    const source = createSource();
    for (let count = 1; count <= 10; count++) source.add("ses_root", "message.part.delta");
    source.forget(6);
    const [first] = await readEvents(createBus(source).subscribe({ root: "ses_root", after: 2 }), 2);
    expect(first).toEqual({ type: "gap", from: 3, to: 6 });
  });

  test("tells its subscribers at once when it is dead, after what it had for them", async () => {
    const source = createSource();
    const bus = createBus(source, { timings: { ...timings, awayMilliseconds: 20 } });
    const events = bus.subscribe({ root: "ses_root", after: 0 });
    const reader = events[Symbol.asyncIterator]();
    source.add("ses_root", "session.status");
    expect(numberOf((await reader.next()).value)).toBe(1);
    source.goAway();
    await expect(reader.next()).rejects.toMatchObject({ kind: "unavailable", code: "stream-error" });
    expect(bus.dead).toBe(true);
    expect(() => bus.subscribe({ root: "ses_root", after: 0 })).toThrow(causes["agent-lost"].message);
  });

  test("counts a sidecar that accepts but never speaks as away", async () => {
    const source = createSource();
    source.hang();
    const bus = createBus(source, { timings: { ...timings, connectMilliseconds: 5, awayMilliseconds: 20 } });
    const reader = bus.subscribe({ root: "ses_root", after: 0 })[Symbol.asyncIterator]();
    await expect(reader.next()).rejects.toMatchObject({ code: "stream-error" });
  });

  test("ends subscriptions without an error when it is closed", async () => {
    const source = createSource();
    const bus = createBus(source);
    const numbers = read(bus.subscribe({ root: "ses_root", after: 0 }), Number.POSITIVE_INFINITY);
    source.add("ses_root", "session.status");
    await expect.poll(() => bus.passed).toBe(1);
    await bus.close();
    expect(await numbers).toEqual([1]);
    expect(source.connections()).toBe(0);
  });

  test("reports each connection, so that asks that wait can be looked for", async () => {
    const source = createSource();
    let connected = 0;
    const bus = createBus(source, { onConnected: () => (connected += 1) });
    bus.subscribe({ root: "ses_root", after: 0 });
    await expect.poll(() => connected).toBe(1);
    source.cut();
    await expect.poll(() => connected).toBe(2);
  });
});

function createBus(source: Source, options: Partial<Parameters<typeof createEventBus>[0]> = {}): EventBus {
  const bus = createEventBus({ sidecar: source.sidecar, timings, ...options });
  open.push(bus);
  return bus;
}

type Source = ReturnType<typeof createSource>;

/** A sidecar's numbered events, with every fault at hand. */
function createSource() {
  const events: Extract<NumberedEvent, { type: "agent" }>[] = [];
  let state: "here" | "away" | "silent" = "here";
  let forgotten = 0;
  let cuts = 0;
  let connections = 0;
  const waiting: (() => void)[] = [];
  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };

  async function* follow(after: number, signal: AbortSignal): AsyncGenerator<NumberedEvent> {
    const change = () => new Promise<void>((resolve) => waiting.push(resolve));
    signal.addEventListener("abort", wake);
    const mine = cuts;
    connections += 1;
    try {
      if (state === "away") throw new Error("refused");
      while (state === "silent" && !signal.aborted) await change();
      signal.throwIfAborted();
      yield { type: "hello", oldest: forgotten + 1, last: events.length, bootId: "boot" };
      let position = after;
      if (position < forgotten) yield { type: "gap", from: position + 1, to: forgotten };
      position = Math.max(position, forgotten);
      for (;;) {
        signal.throwIfAborted();
        if (mine !== cuts) throw new Error("cut");
        const event = events[position];
        if (event) {
          position += 1;
          yield event;
        } else await change();
      }
    } finally {
      connections -= 1;
      signal.removeEventListener("abort", wake);
    }
  }

  return {
    sidecar: { events: follow } as unknown as SidecarClient,
    add(sessionID: string, type: string, properties: Record<string, unknown> = {}) {
      const payload = { type, properties: { sessionID, ...properties } };
      events.push({ type: "agent", number: events.length + 1, directory: null, payload });
      wake();
    },
    cut() {
      cuts += 1;
      wake();
    },
    goAway() {
      state = "away";
      cuts += 1;
      wake();
    },
    hang() {
      state = "silent";
    },
    forget(number: number) {
      forgotten = number;
    },
    connections: () => connections,
  };
}

async function readEvents(events: AsyncIterable<NumberedEvent>, most: number): Promise<NumberedEvent[]> {
  const found: NumberedEvent[] = [];
  for await (const event of events) {
    found.push(event);
    if (found.length === most) break;
  }
  return found;
}

async function read(events: AsyncIterable<NumberedEvent>, most: number): Promise<number[]> {
  return (await readEvents(events, most)).map(numberOf);
}

function numberOf(event: NumberedEvent | undefined): number {
  return event && "number" in event ? event.number : -1;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
