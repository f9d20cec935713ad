import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LogEntry, LogPage, TextBody } from "../protocol/log-entry.ts";
import { applySessionEvents, emptyViewerState, type ViewerState } from "../protocol/viewer-state.ts";
import { createSessionLog } from "./create-session-log.ts";
import { type PageLimits, pageLimits } from "./log-pages.ts";
import type { SessionLog } from "./session-log.ts";
import { createRandom, createTestLog, type TestLog, watch } from "./test-log.ts";

let test_: TestLog;
beforeAll(async () => {
  test_ = await createTestLog();
});
afterAll(async () => {
  await test_[Symbol.asyncDispose]();
});

interface MadeEntry {
  number: number;
  version: number;
  kind: string;
  key: string;
  under: number | null;
  body: object;
}

/** Texts in several pieces that other entries come between, subagents in subagents, versions in any order. */
function makeEntries(random: () => number, count: number): MadeEntry[] {
  const versions = Array.from({ length: count }, (_, index) => index + 2);
  for (let index = versions.length - 1; index > 0; index -= 1) {
    // Near to where it was, mostly: what is old changes seldom.
    const other = Math.max(0, index - Math.floor(random() ** 4 * index));
    [versions[index], versions[other]] = [versions[other] as number, versions[index] as number];
  }
  const calls: number[] = [];
  const texts: MadeEntry[] = [];
  return versions.map((version, index) => {
    const number = index + 2;
    const roll = random();
    const under = random() < 0.4 ? (calls[Math.floor(random() * calls.length)] ?? null) : null;
    const continued = roll < 0.3 ? texts.at(-1 - Math.floor(random() * 3)) : undefined;
    const base = { number, version, key: `part${number}`, under };
    if (continued) {
      texts.splice(texts.indexOf(continued), 1);
      const { key, kind, under: where } = continued;
      const piece = { ...base, key, kind, under: where, body: { text: `… ${number}`, continues: continued.number } };
      texts.push(piece);
      return piece;
    }
    if (roll < 0.7) {
      const kind = roll < 0.6 ? "agent_message" : "agent_thought";
      const text = { ...base, kind, body: { text: "x".repeat(Math.floor(random() * 300)) } };
      texts.push(text);
      return text;
    }
    if (roll < 0.8) calls.push(number);
    return { ...base, kind: roll < 0.8 ? "tool_call" : "error", body: { message: `entry ${number}`, target: "" } };
  });
}

async function storeLog(made: readonly MadeEntry[]): Promise<string> {
  const { sessionId, turnId, writer } = await test_.begin();
  await writer.close();
  const { tenantId, userId } = test_.viewer;
  await test_.database.transaction(test_.viewer, async (tx) => {
    await tx.execute(sql`
      insert into log_entries (session_id, turn_id, tenant_id, user_id, number, version, kind, key, under, body)
      select ${sessionId}::uuid, ${turnId}::uuid, ${tenantId}::uuid, ${userId}::uuid, number, version, kind, key, under, body
      from jsonb_to_recordset(${JSON.stringify(made)}::jsonb)
        as made (number bigint, version bigint, kind text, key text, under bigint, body jsonb)`);
    const last = made.length + 1;
    await tx.execute(sql`update sessions set last_number = ${last}, version = ${last} where id = ${sessionId}`);
  });
  return sessionId;
}

async function withLimits<Result>(limits: PageLimits, work: (log: SessionLog) => Promise<Result>): Promise<Result> {
  const log = createSessionLog({ database: test_.database, limits });
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}

async function readPages(log: SessionLog, sessionId: string, input: { limit: number; under: number | null }) {
  const pages: LogPage[] = [];
  for (let before: number | null = null; ; ) {
    const page = await log.page({ actor: test_.viewer, sessionId, before, ...input });
    if (!page) throw new Error("There is no such session.");
    pages.unshift(page);
    if (page.earlier === null) return pages;
    before = page.earlier;
  }
}

const continuesOf = ({ body }: LogEntry) => (body as TextBody).continues;
const numbersOf = (entries: readonly LogEntry[]) => entries.map(({ number }) => number);

describe.each([1, 2, 3, 4, 5, 6])("a log of texts, tools and subagents (seed %i)", (seed) => {
  const random = createRandom(seed);
  const made = makeEntries(random, 400);
  const limits = { entries: 5 + Math.floor(random() * 20), bytes: 1500 + Math.floor(random() * 4000) };
  const limit = 1 + Math.floor(random() * 12);
  const childrenOf = (number: number) => made.filter(({ under }) => under === number).length;

  test("is its pages one after another, those under tool calls included, and no text is cut", () =>
    withLimits(limits, async (log) => {
      const sessionId = await storeLog(made);
      const levels: LogPage[][] = [await readPages(log, sessionId, { limit, under: null })];
      for (const page of levels.flat()) expect(page.version).toBe(401);
      for (const level of levels) {
        const seen = new Set<number>();
        for (const { entries } of level.toReversed()) {
          for (const { number } of entries) seen.add(number);
          for (const entry of entries) {
            expect(seen).toContain(continuesOf(entry) ?? entry.number);
            expect(entry.children ?? 0).toBe(childrenOf(entry.number));
          }
        }
        const all = level.flatMap(({ entries }) => entries);
        expect(numbersOf(all)).toEqual(numbersOf(all).toSorted((one, other) => one - other));
        for (const { number, children } of all) {
          if (children) levels.push(await readPages(log, sessionId, { limit, under: number }));
        }
      }
      const all = levels.flat(2).flatMap(({ entries }) => entries);
      const root = made.filter(({ under }) => under === null);
      expect(levels[0]?.flatMap(({ entries }) => numbersOf(entries))).toEqual([1, ...root.map(({ number }) => number)]);
      expect(numbersOf(all).toSorted((one, other) => one - other)).toEqual(
        Array.from({ length: 401 }, (_, at) => at + 1),
      );
    }));

  test("is caught up with page by page, from wherever a viewer left, and texts are whole at each", () =>
    withLimits(limits, async (log) => {
      const sessionId = await storeLog(made);
      let state: ViewerState = emptyViewerState;
      let pages = 0;
      for (let more = true; more; ) {
        const page = await log.read({ actor: test_.viewer, sessionId, after: state.version });
        if (!page) throw new Error("There is no such session.");
        state = applySessionEvents(state, [{ event: "entries", data: page }]);
        const here = new Set(numbersOf(state.entries));
        const cut = made.filter(({ number, body }) => {
          const { continues } = body as TextBody;
          return continues !== undefined && here.has(number) !== here.has(continues);
        });
        expect(cut).toEqual([]);
        pages += 1;
        more = page.more;
      }
      expect(pages).toBeGreaterThan(400 / limits.entries - 1);
      expect(state.version).toBe(401);
      expect(numbersOf(state.entries)).toEqual(Array.from({ length: 401 }, (_, index) => index + 1));

      let comingAndGoing = emptyViewerState;
      while (comingAndGoing.version < 401) {
        const stay = 1 + Math.floor(random() * 4);
        comingAndGoing = await watch({
          log,
          viewer: test_.viewer,
          sessionId,
          from: comingAndGoing,
          until: ({ version }, events) => version === 401 || events > stay,
        });
      }
      expect(comingAndGoing.entries).toEqual(state.entries);
    }));
});

test("a log of 20,000 entries never fills a page beyond its bounds, whoever reads it", async () => {
  const made = Array.from({ length: 20_000 }, (_, index): MadeEntry => {
    const number = index + 2;
    const nested = index % 100 > 20 && index > 100;
    const under = nested ? Math.floor(index / 100) * 100 + 2 : null;
    const kind = index % 100 === 0 ? "tool_call" : "agent_message";
    return {
      number,
      version: number,
      kind,
      key: `part${number}`,
      under,
      body: { text: "word ".repeat(100), target: "" },
    };
  });
  const sessionId = await storeLog(made);
  const sizes: { entries: number; bytes: number }[] = [];
  const state = await watch({
    log: test_.log,
    viewer: test_.viewer,
    sessionId,
    until: ({ version }) => version === 20_001,
    onEvent({ event, data }) {
      if (event !== "entries") return;
      const bytes = data.entries.reduce((sum, { body }) => sum + JSON.stringify(body).length, 0);
      sizes.push({ entries: data.entries.length, bytes });
    },
  });
  expect(numbersOf(state.entries)).toEqual(Array.from({ length: 20_001 }, (_, index) => index + 1));
  expect(Math.max(...sizes.map(({ entries }) => entries))).toBeLessThanOrEqual(pageLimits.entries);
  expect(Math.max(...sizes.map(({ bytes }) => bytes))).toBeLessThanOrEqual(pageLimits.bytes);
  const pages = await readPages(test_.log, sessionId, { limit: 1000, under: null });
  expect(Math.max(...pages.map(({ entries }) => entries.length))).toBeLessThanOrEqual(pageLimits.entries);
  const newest = await test_.log.page({ actor: test_.viewer, sessionId, limit: 30 });
  expect(newest?.entries).toHaveLength(30);
  expect(newest?.entries.find(({ kind }) => kind === "tool_call")).toMatchObject({ children: 79 });
});

test("an entry that is larger than a page comes alone, and nobody reads another person's pages", () =>
  withLimits({ entries: 10, bytes: 100 }, async (log) => {
    const body = { text: "x".repeat(5000) };
    const entry = { kind: "error", key: "", under: null, body };
    const sessionId = await storeLog([2, 3].map((number) => ({ ...entry, number, version: number })));
    const pages = await readPages(log, sessionId, { limit: 10, under: null });
    expect(pages.map(({ entries }) => numbersOf(entries))).toEqual([[1], [2], [3]]);
    const first = await log.read({ actor: test_.viewer, sessionId, after: 1 });
    expect(first).toMatchObject({ entries: [{ number: 2 }], version: 2, more: true });
    const bob = await test_.addPerson(test_.viewer, "bob-of-pages@example.org", "admin");
    expect(await log.page({ actor: bob, sessionId, limit: 10 })).toBeNull();
    expect(await log.page({ actor: test_.viewer, sessionId: "damaged", limit: 10 })).toBeNull();
  }));
