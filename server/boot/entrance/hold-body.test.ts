import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { holdBody } from "./hold-body.ts";

const bounds = { maxBytes: 10, idleMilliseconds: 1_000 };
let request: IncomingMessage;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  request = new IncomingMessage(new Socket());
});
afterEach(() => vi.useRealTimers());

it("takes a body that comes slowly, however long it takes, and leaves it to be read", async () => {
  const held = holdBody(request, bounds);
  for (const letter of "dormouse") {
    vi.advanceTimersByTime(900);
    request.push(Buffer.from(letter));
  }
  request.push(null);
  expect(await held).toMatchObject({ outcome: "whole" });
  expect(await text(request)).toBe("dormouse");
});

it("gives up one that stands still", async () => {
  const held = holdBody(request, bounds);
  request.push(Buffer.from("dor"));
  vi.advanceTimersByTime(1_001);
  expect(await held).toEqual({ outcome: "stalled" });
});

it("keeps nothing of what comes beyond the limit", async () => {
  const held = holdBody(request, bounds);
  for (let index = 0; index < 100; index += 1) expect(request.push(Buffer.alloc(8))).toBe(true);
  expect(await held).toEqual({ outcome: "too-large" });
  expect(request.readableLength).toBe(8);
});
