import { describe, expect, it } from "vitest";
import { createEventBuffer } from "./event-buffer.ts";

const event = (text: string) =>
  ({ type: "agent", directory: null, payload: { type: "x", properties: { text } } }) as const;

describe("the event buffer", () => {
  it("gives what follows a number, in batches, without loss or repeat", () => {
    const buffer = createEventBuffer();
    for (let index = 1; index <= 1_000; index += 1) buffer.append(event(String(index)));
    let after = 0;
    let text = "";
    for (let rounds = 0; after < buffer.last; rounds += 1) {
      const batch = buffer.read(after, 500);
      expect(batch && rounds < 1_000).toBeTruthy();
      text += batch?.text;
      after = batch?.last ?? Number.POSITIVE_INFINITY;
    }
    expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))).toEqual(
      Array.from({ length: 1_000 }, (_, index) => index + 1),
    );
    expect(buffer.read(1_000, 500)).toEqual({ text: "", last: 1_000 });
  });

  it("forgets the oldest beyond its count and tells a late reader of the gap", () => {
    const buffer = createEventBuffer({ maxEvents: 10 });
    for (let index = 1; index <= 5_000; index += 1) buffer.append(event(String(index)));
    expect([buffer.oldest, buffer.last]).toEqual([4_991, 5_000]);
    expect(buffer.read(4_989, 1_000_000)).toBeNull();
    expect(buffer.read(4_990, 1_000_000)?.text).toMatch(/^id: 4991\n/);
  });

  it("is bounded by bytes too, and by one event that is larger than all of it", () => {
    const buffer = createEventBuffer({ maxBytes: 10_000 });
    for (let index = 0; index < 100; index += 1) buffer.append(event("x".repeat(1_000)));
    expect(buffer.last - buffer.oldest + 1).toBeLessThan(10);
    buffer.append(event("x".repeat(20_000)));
    expect(buffer.oldest).toBe(buffer.last + 1);
    expect(buffer.read(buffer.last - 1, 1_000)).toBeNull();
    buffer.append(event("small"));
    expect(buffer.read(101, 1_000)?.text).toContain("small");
  });

  it("wakes whoever waits, by the next event or by an abort", async () => {
    const buffer = createEventBuffer();
    const forever = new AbortController();
    const waiting = buffer.wait(forever.signal);
    buffer.append(event("x"));
    await waiting;
    const aborted = buffer.wait(forever.signal);
    forever.abort();
    await aborted;
  });
});
