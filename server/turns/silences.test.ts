import { expect, test } from "vitest";
import { withSilences } from "./silences.ts";

test("a silence is told between events, loses none of them, and comes again for as long as it lasts", async () => {
  const gate = Promise.withResolvers<void>();
  async function* events() {
    yield 1;
    await gate.promise;
    yield 2;
    yield 3;
  }
  const heard: (number | null)[] = [];
  for await (const event of withSilences(events(), () => 5)) {
    heard.push(event);
    if (heard.filter((one) => one === null).length === 2) gate.resolve();
  }
  expect(heard.filter((one) => one !== null)).toEqual([1, 2, 3]);
  expect(heard.slice(0, 3)).toEqual([1, null, null]);
});

test("whoever leaves does not wait for one more event, and what breaks the events is thrown", async () => {
  const never = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
  for await (const event of withSilences(never, () => 1)) {
    expect(event).toBeNull();
    break;
  }
  const broken = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("cut")) }) };
  await expect(withSilences(broken, () => 1_000).next()).rejects.toThrow("cut");
});
