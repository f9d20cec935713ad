import { afterEach, expect, test, vi } from "vitest";
import { AppError } from "../errors.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import type { TurnLimits } from "./turn-context.ts";
import { createTurnWatch } from "./turn-watch.ts";

afterEach(() => {
  vi.useRealTimers();
});

const nothingAsked = { pending: 0, waitedMilliseconds: 0 };

function watchTurn(
  limits: Partial<TurnLimits>,
  options: { startedAt?: Date; turnAsks?: Parameters<typeof createTurnWatch>[1]["turnAsks"] } = {},
) {
  const ended = Promise.withResolvers<void>();
  const lost = new AbortController();
  const stop = new AbortController();
  const closing = new AbortController();
  const aborts: string[] = [];
  const stopLate = new AbortController();
  const patient = { turnMilliseconds: 60_000, inactivityMilliseconds: 60_000 };
  const driven = {
    context: { limits: { ...patient, ...limits }, logger: { warn() {} } },
    job: {
      stop: stop.signal,
      stopLate: stopLate.signal,
      closing: closing.signal,
      turn: { id: "turn", startedAt: options.startedAt ?? new Date() },
    },
    sandbox: { signal: lost.signal },
    connection: { client: { abort: async (id: string) => void aborts.push(id) } },
    agentSessionId: "ses_1",
  } as unknown as DrivenTurn;
  const watch = createTurnWatch(driven, { close: ended.resolve, turnAsks: options.turnAsks ?? nothingAsked });
  return { watch, ended: ended.promise, lost, stop, stopLate, closing, aborts };
}

test("a turn that takes too long is ended with a cause that says so, counted from its start", async () => {
  const { watch, ended } = watchTurn({}, { startedAt: new Date(Date.now() - 61_000) });
  await ended;
  expect(watch.cause).toMatchObject({
    outcome: "failed",
    failure: { code: "timeout", message: expect.stringContaining("1 minutes") },
  });
  watch.end();
});

test("the limit stands still while the agent waits for a person, also before a takeover", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  const turnAsks = { pending: 1, waitedMilliseconds: 40_000 };
  const startedAt = new Date(Date.now() - 90_000);
  const { watch } = watchTurn({ inactivityMilliseconds: 3_600_000 }, { startedAt, turnAsks });
  // A person thinks for ten minutes; 50 of the turn's 60 seconds were used before.
  for (let seconds = 0; seconds < 600; seconds++) {
    turnAsks.waitedMilliseconds += 1_000;
    vi.advanceTimersByTime(1_000);
  }
  expect(watch.cause).toBeNull();
  turnAsks.pending = 0;
  vi.advanceTimersByTime(9_000);
  expect(watch.cause).toBeNull();
  vi.advanceTimersByTime(1_000);
  expect(watch.cause).toMatchObject({ outcome: "failed", failure: { code: "timeout" } });
  watch.end();
});

test("an agent that gives no sign of life is ended, though not while it waits for a person", async () => {
  let asked = 0;
  const { watch, ended } = watchTurn(
    { inactivityMilliseconds: 15 },
    {
      turnAsks: {
        waitedMilliseconds: 0,
        get pending() {
          asked += 1;
          return asked > 3 ? 0 : 1;
        },
      },
    },
  );
  await ended;
  expect(asked).toBeGreaterThan(3);
  expect(watch.cause).toMatchObject({
    failure: { code: "timeout", message: expect.stringContaining("did not respond") },
  });
  watch.end();
});

test("a stop tells the agent, and ends the turn as stopped even if it does not obey", async () => {
  const { watch, ended, stop, stopLate, aborts } = watchTurn({});
  stop.abort();
  expect(aborts).toEqual(["ses_1"]);
  expect(watch.cause).toBeNull();
  stopLate.abort();
  await ended;
  expect(watch.cause).toEqual({ outcome: "stopped" });
  watch.end();
});

test("an agent that begins after it was told to stop is told again", () => {
  const { watch, stop, aborts } = watchTurn({});
  watch.begun();
  expect(aborts).toEqual([]);
  stop.abort();
  watch.begun();
  expect(aborts).toEqual(["ses_1", "ses_1"]);
  watch.end();
});

test("a lost sandbox ends the turn with the reason that is known, and the server's end with none", async () => {
  const first = watchTurn({});
  first.lost.abort(new AppError("unavailable", "It ended."));
  await first.ended;
  expect(first.watch.cause).toMatchObject({
    failure: { code: "sandbox-lost", message: "It ended." },
  });
  first.watch.end();
  const second = watchTurn({});
  second.closing.abort();
  await second.ended;
  expect(second.watch.cause).toBeNull();
  second.watch.end();
});
