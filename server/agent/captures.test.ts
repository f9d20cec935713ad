import { globSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import type { NumberedEvent } from "../protocol/sidecar.ts";
import type { StepUsage, TurnSignal } from "./index.ts";
import { type Settlement, settle } from "./settle.ts";
import {
  applyChanges,
  createTestLog,
  messagesAfter,
  printLog,
  readCapture,
  stateForCapture,
  type TestLog,
} from "./test-capture.ts";
import { createTranslator } from "./translate.ts";
import { restoreState, type TranslatorState } from "./translator-state.ts";

const names = globSync("*.jsonl", { cwd: new URL("captures", import.meta.url).pathname })
  .map((name) => basename(name, ".jsonl"))
  .sort();

describe.each(names)("capture %s", (name) => {
  const events = readCapture(`${name}.jsonl`);
  const whole = run(events, stateForCapture(events));

  test("gives its expected log", async () => {
    const { outcome } = whole.settled;
    const steps = [...whole.state.steps.values()].map((usage) => `+ step ${JSON.stringify(usage)}\n`);
    const printed = [printLog(whole.log, whole.signals), ...steps, `= ${JSON.stringify(outcome)}\n`].join("");
    await expect(printed).toMatchFileSnapshot(`captures/${name}.expected.txt`);
  });

  test("leaves nothing to settle but the plan's end once every event was seen", () => {
    const left = whole.settled.changes.filter((change) => !("key" in change && change.key.startsWith("plan:")));
    if (whole.settled.outcome.type === "finished") expect(left).toEqual([]);
  });

  test("changes nothing when every event comes twice", () => {
    const twice = run(
      events.flatMap((event) => [event, event]),
      stateForCapture(events),
    );
    expect(twice.log).toEqual(whole.log);
    expect(twice.signals).toEqual(whole.signals);
  });

  test("is the same log when the state is copied after each event", () => {
    let state = stateForCapture(events);
    const log = createTestLog();
    for (const event of events) {
      const copy = structuredClone(state);
      applyChanges(log, createTranslator(copy).apply(event).changes);
      state = copy;
    }
    applyChanges(log, settle({ state, ...stored(events, whole.state), end: true }).changes);
    expect(log).toEqual(whole.log);
  });

  test("is the same log after a takeover at any event", () => {
    for (let cut = 1; cut < events.length; cut++) {
      const log = createTestLog();
      const before = stateForCapture(events);
      feed({ events: events.slice(0, cut), state: before, log });
      const { root, userMessageId, title } = before;
      const entries = [...log.entries.values()].map((entry) => ({
        ...entry,
        body: entry.discarded ? { ...entry.body, discarded: true } : entry.body,
      }));
      const restored = restoreState({ root, userMessageId, title, appliedEvent: cut, entries });
      feed({ events: events.slice(cut), state: restored, log });
      applyChanges(log, settle({ state: restored, ...stored(events, whole.state), end: true }).changes);
      expect(contentOf(log), `cut at ${cut}`).toEqual(contentOf(whole.log));
    }
  });

  test("is the same log when it is compared with the stored messages at any time", () => {
    for (let cut = 1; cut < events.length; cut += 3) {
      const log = createTestLog();
      const state = stateForCapture(events);
      feed({ events: events.slice(0, cut), state, log });
      // The list is read a little later than the last event that came.
      const settled = settle({ state, ...stored(events.slice(0, cut + 4), whole.state), running: true });
      applyChanges(log, settled.changes);
      feed({ events: events.slice(cut), state: settled.state, log });
      applyChanges(log, settle({ state: settled.state, ...stored(events, whole.state), end: true }).changes);
      expectSameContent({ log, other: whole.log, message: `compared at ${cut}` });
    }
  });

  // Nothing is stored of a session that was deleted.
  test.skipIf(name.includes("delete"))("has the same final content where events were lost", () => {
    for (let cut = 1; cut < events.length; cut += 2) {
      for (const length of [1, 4, events.length]) {
        const log = createTestLog();
        const state = stateForCapture(events);
        const gap: NumberedEvent = { type: "gap", from: cut + 1, to: Math.min(cut + length, events.length) };
        feed({ events: [...events.slice(0, cut), gap, ...events.slice(cut + length)], state, log });
        const settled = settle({ state, ...stored(events, whole.state), end: true });
        applyChanges(log, settled.changes);
        expectSameContent({ log, other: whole.log, message: `lost ${length} after ${cut}` });
        expect(tokensOf(settled)).toEqual(tokensOf(whole.settled));
      }
    }
  });
});

function feed(input: { events: readonly NumberedEvent[]; state: TranslatorState; log: TestLog }): TurnSignal[] {
  const translator = createTranslator(input.state);
  return input.events.flatMap((event) => {
    const { changes, signals } = translator.apply(event);
    applyChanges(input.log, changes);
    return signals;
  });
}

function run(events: readonly NumberedEvent[], state: TranslatorState) {
  const log = createTestLog();
  const signals = feed({ events, state, log });
  const settled = settle({ state, ...stored(events, state), end: true });
  applyChanges(log, settled.changes);
  return { log, signals, settled, state };
}

function stored(events: readonly NumberedEvent[], state: TranslatorState) {
  const messages = messagesAfter(events);
  return {
    messages: messages.filter(({ info }) => info.sessionID === state.root),
    children: messages.filter(({ info }) => state.children.has(info.sessionID)),
  };
}

/** Without what a log keeps only for replay: a part that was closed by the end of the turn has nothing to keep. */
function contentOf(log: TestLog) {
  return { title: log.title, entries: [...log.entries.values()].map(({ verbatim, ...entry }) => entry) };
}

/**
 * Where events were lost, the order of entries may differ, a failed try may be missing or marked, and
 * a compaction's summary may be taken for an answer.
 */
function expectSameContent({ log, other, message }: { log: TestLog; other: TestLog; message: string }): void {
  const logs = [log, other];
  const isDiscarded = (key: string) => logs.some(({ entries }) => entries.get(key)?.discarded);
  const compacted = [...other.entries.values()].some(({ kind }) => kind === "memory-note");
  const [content, expected] = logs.map(({ entries }) =>
    [...entries.values()]
      .filter(({ key }) => !isDiscarded(key))
      .map(({ verbatim, kind, ...entry }) => ({ ...entry, kind: compacted && "text" in entry.body ? "text" : kind }))
      .sort((a, b) => a.key.localeCompare(b.key)),
  );
  expect(content, message).toEqual(expected);
}

/** Of each step, once, whether its event was seen or not. */
function tokensOf({ state }: Settlement): Map<string, StepUsage["tokens"]> {
  return new Map([...state.steps].map(([key, { tokens }]) => [key, tokens]));
}
