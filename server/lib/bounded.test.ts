import { describe, expect, it } from "vitest";
import { bounded } from "./bounded.ts";

const late = () => new Error("late");
const never = new AbortController().signal;

describe("bounded work", () => {
  it("gives its result or its own error", async () => {
    const bounds = { signal: never, milliseconds: 10_000, late };
    expect(await bounded(async () => 7, bounds)).toBe(7);
    await expect(bounded(() => Promise.reject(new Error("its own")), bounds)).rejects.toThrow("its own");
  });

  it("is told to stop when its time is up, and waited for no longer", async () => {
    let told: AbortSignal | undefined;
    const work = bounded(
      (signal) => {
        told = signal;
        return new Promise<never>(() => {});
      },
      { signal: never, milliseconds: 10, late },
    );
    await expect(work).rejects.toThrow("late");
    expect(told?.aborted).toBe(true);
  });

  it("fails with the reason of its signal, also when that was aborted before", async () => {
    const abort = new AbortController();
    const bounds = { signal: abort.signal, milliseconds: 10_000, late };
    const work = bounded(() => new Promise<never>(() => {}), bounds);
    abort.abort(new Error("not wanted"));
    await expect(work).rejects.toThrow("not wanted");
    let begun = false;
    const after = bounded(async () => {
      begun = true;
    }, bounds);
    await expect(after).rejects.toThrow("not wanted");
    expect(begun).toBe(false);
  });
});
