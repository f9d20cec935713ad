import { expect, test } from "vitest";
import type { LogEntry } from "./log-entry.ts";
import { applySessionEvents, emptyViewerState, type ViewerState } from "./viewer-state.ts";

const entry = (number: number, version: number, text = ""): LogEntry => ({
  number,
  version,
  turnId: null,
  kind: "agent_message",
  open: true,
  under: null,
  at: "2026-01-01T00:00:00.000Z",
  body: { text },
});
const entries = (version: number, ...list: LogEntry[]) =>
  ({ event: "entries", data: { entries: list, version } }) as const;
const delta = (number: number, offset: number, text: string) =>
  ({ event: "delta", data: { number, offset, text } }) as const;
const texts = (state: ViewerState) => state.entries.map(({ body }) => ("text" in body ? body.text : null));

test("entries are kept in the order of their numbers, whatever order they come in", () => {
  const state = applySessionEvents(emptyViewerState, [
    entries(3, entry(3, 3, "c")),
    entries(4, entry(1, 1, "a"), entry(2, 4, "b")),
  ]);
  expect(texts(state)).toEqual(["a", "b", "c"]);
  expect(state.version).toBe(4);
});

test("a newer version replaces an entry, and an older one never does", () => {
  const state = applySessionEvents(emptyViewerState, [entries(5, entry(1, 5, "new")), entries(4, entry(1, 4, "old"))]);
  expect(texts(state)).toEqual(["new"]);
  expect(state.version).toBe(5);
  expect(texts(applySessionEvents(state, [entries(6, entry(1, 6, "newest"))]))).toEqual(["newest"]);
});

test("a delta grows the text once, however often it comes and however it overlaps", () => {
  const state = applySessionEvents(emptyViewerState, [entries(1, entry(1, 1, "Hello"))]);
  const grown = applySessionEvents(state, [delta(1, 5, " wor"), delta(1, 5, " wor"), delta(1, 7, "orld")]);
  expect(texts(grown)).toEqual(["Hello world"]);
  expect(texts(state)).toEqual(["Hello"]);
});

test("a delta that would leave a hole waits for the whole entry", () => {
  const state = applySessionEvents(emptyViewerState, [entries(1, entry(1, 1, "Hello")), delta(1, 6, "world")]);
  expect(texts(state)).toEqual(["Hello"]);
  expect(texts(applySessionEvents(state, [delta(2, 0, "unknown entry")]))).toEqual(["Hello"]);
});

test("a log that comes in pages, the newest entries first and some pages twice, is the same as one that came whole", () => {
  const log = Array.from({ length: 50 }, (_, index) => entry(index + 1, ((index * 7) % 50) + 1, `text ${index}`));
  const whole = applySessionEvents(emptyViewerState, [entries(50, ...log)]);
  let state: ViewerState = { ...emptyViewerState, entries: log.slice(-10) };
  const pages = Array.from({ length: 10 }, (_, page) =>
    entries(page * 5 + 5, ...log.filter(({ version }) => Math.ceil(version / 5) === page + 1)),
  );
  for (const [index, page] of pages.entries()) {
    state = applySessionEvents(state, [page, pages[Math.max(0, index - 2)] ?? page]);
    expect(state.version).toBe(page.data.version);
  }
  expect(state).toEqual(whole);
});

test("what changes nothing returns the same state", () => {
  const state = applySessionEvents(emptyViewerState, [entries(1, entry(1, 1, "Hello"))]);
  expect(applySessionEvents(state, [delta(1, 0, "Hell"), entries(1), { event: "stopping", data: {} }])).toBe(state);
});

test("a hole is told, and is mended by the whole entry only", () => {
  const holed = applySessionEvents(emptyViewerState, [entries(1, entry(1, 1, "Hello")), delta(1, 9, "!")]);
  expect(holed.gap).toBe(true);
  expect(applySessionEvents(holed, [entries(2)]).gap).toBe(true);
  expect(applySessionEvents(holed, [entries(2, entry(1, 2, "Hello world"))]).gap).toBe(false);
  expect(applySessionEvents(emptyViewerState, [delta(4, 0, "unknown")]).gap).toBe(true);
});

test("text that comes after an entry is final changes nothing", () => {
  const final = { ...entry(1, 2, "Hello"), open: false };
  const state = applySessionEvents(emptyViewerState, [entries(2, final)]);
  expect(applySessionEvents(state, [delta(1, 5, " again"), delta(1, 9, "late")])).toBe(state);
});
