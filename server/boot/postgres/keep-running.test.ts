import { describe, expect, it } from "vitest";
import { keepRunning } from "./keep-running.ts";
import type { Postmaster } from "./postmaster.ts";

function createFake(): Postmaster & { end(): void } {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { port: 1, ended, end, stop: async () => end() };
}

/** A Postgres whose starts are counted; `fails` says which of them do not work. */
function createTest(fails: (start: number) => boolean = () => false) {
  const said: string[] = [];
  const started = [createFake()];
  const waiting: (() => void)[] = [];
  let starts = 0;
  const [first] = started;
  const kept = keepRunning({
    first: first as Postmaster,
    async startAgain() {
      starts += 1;
      if (fails(starts)) throw new Error(`Start ${starts} failed.\nand more`);
      const next = createFake();
      started.push(next);
      for (const wake of waiting.splice(0)) wake();
      return next;
    },
    onProgress: (line) => said.push(line),
    limits: { tries: 3, withinMilliseconds: 60_000, pauseMilliseconds: 1 },
  });
  return {
    kept,
    said,
    started,
    starts: () => starts,
    startedAgain: () => new Promise<void>((resolve) => waiting.push(resolve)),
  };
}

describe("an embedded Postgres that ends by itself", () => {
  it("is started again, also after a try that failed, and what happens is said", async () => {
    const { said, started, kept, startedAgain } = createTest((start) => start === 1);
    const again = startedAgain();
    started[0]?.end();
    await again;
    await kept.stop();
    expect(said.slice(0, 2)).toEqual([
      "The embedded Postgres ended by itself: starting it again",
      "The embedded Postgres could not be started again: Start 1 failed.",
    ]);
  });

  it("is lost after the last try", async () => {
    const { kept, started, starts } = createTest(() => true);
    started[0]?.end();
    await kept.lost;
    expect(starts()).toBe(3);
  });

  it("is lost when it ends again and again", async () => {
    const { kept, started, starts, startedAgain } = createTest();
    for (let round = 0; round < 3; round += 1) {
      const again = startedAgain();
      started[round]?.end();
      await again;
    }
    started[3]?.end();
    await kept.lost;
    expect(starts()).toBe(3);
  });

  it("stays ended once it was told to stop", async () => {
    const { kept, started, starts } = createTest();
    await kept.stop();
    await started[0]?.ended;
    expect(starts()).toBe(0);
  });
});
