import { describe, expect, it } from "vitest";
import { createLoop } from "./loop.ts";

const quiet = { error: () => {}, warn: () => {} };
const hour = 3_600_000;

describe("a loop", () => {
  it("runs a round on demand, without having been started", async () => {
    let rounds = 0;
    const loop = createLoop({ name: "test", everyMilliseconds: hour, logger: quiet, run: async () => void rounds++ });
    await loop.runNow();
    await loop.runNow();
    expect(rounds).toBe(2);
    await loop.stop();
  });

  it("never runs two rounds at once", async () => {
    let running = 0;
    let most = 0;
    const free = Promise.withResolvers<void>();
    const run = async () => {
      running += 1;
      most = Math.max(most, running);
      await free.promise;
      running -= 1;
    };
    const loop = createLoop({ name: "test", everyMilliseconds: hour, logger: quiet, run });
    loop.start();
    const wanted = [loop.runNow(), loop.runNow()];
    free.resolve();
    await Promise.all(wanted);
    expect(most).toBe(1);
    await loop.stop();
  });

  it("says what fails to whoever asked for the round, and goes on otherwise", async () => {
    const heard = Promise.withResolvers<unknown>();
    const logger = { ...quiet, error: (about: unknown) => heard.resolve(about) };
    const run = () => Promise.reject(new Error("no luck"));
    const loop = createLoop({ name: "test", everyMilliseconds: hour, logger, run });
    await expect(loop.runNow()).rejects.toThrow("no luck");
    loop.start();
    expect(await heard.promise).toMatchObject({ loop: "test", err: { message: "no luck" } });
    await loop.stop();
  });
});
