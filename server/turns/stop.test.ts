import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { causes, withoutAdvice } from "../protocol/causes.ts";
import type { ViewerState } from "../protocol/viewer-state.ts";
import { createSandboxPrograms, type SandboxPrograms } from "./test-programs.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";
import { createTestWords } from "./test-words.ts";

// Everything is real and shares one sandbox. What is silent stays so until the turn has ended.
let server: TestServer;
let programs: SandboxPrograms;
const words = createTestWords();
beforeAll(async () => {
  server = await createTestServer({}, { demoPace: words });
  programs = createSandboxPrograms(server.home);
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
}, 120_000);
afterEach(() => {
  words.allowAll();
  for (const program of ["agent", "sidecar"] as const) programs.signal(program, "SIGCONT");
});
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 150_000 };
/** 10 s are promised; the rest is for a machine that does much else. */
const settleMilliseconds = 16_000;
const speaks = (characters: number) => (state: ViewerState) => textOf(state).length >= characters;
const hasOpen = (kind: string) => (state: ViewerState) => state.entries.some((entry) => entry.kind === kind);
const isAtWork = (state: ViewerState) =>
  state.entries.some(({ kind, body }) => kind === "tool_call" && body.status === "in_progress");
const endsOf = (state: ViewerState) => ends(state).map(({ body }) => body);

async function settled(sessionId: string): Promise<ViewerState> {
  const late = sleep(settleMilliseconds, null, { ref: false });
  const state = await Promise.race([server.follow(sessionId, ended()), late]);
  if (!state) throw new Error("The stop did not settle in time.");
  expect(state.entries.filter(({ open }) => open)).toEqual([]);
  expect(isAtWork(state)).toBe(false);
  return state;
}

async function isRunning(sessionId: string): Promise<boolean> {
  const rows = await server.database.transaction(server.viewer, (tx) =>
    tx.execute(sql`select from turns where session_id = ${sessionId} and state = 'running'`),
  );
  return rows.length > 0;
}

async function isMarked(sessionId: string): Promise<boolean> {
  const rows = await server.database.transaction(server.viewer, (tx) =>
    tx.execute(sql`select from sessions where id = ${sessionId} and abort_unconfirmed_at is not null`),
  );
  return rows.length > 0;
}

const stop = (sessionId: string) => server.services.turns.stop(server.viewer, sessionId);
const commandOf = (seconds: number) => `run \`sleep ${seconds}\``;

describe.each(["agent", "sidecar"] as const)("while the %s is silent, a stop settles", (program) => {
  test(
    "in the middle of an answer, says that the agent was not told, and the next turn is clean",
    patience,
    async () => {
      const sessionId = await server.newSession();
      words.allow(20);
      await server.prompt(sessionId, "Give me a long text of 3000 words");
      await server.follow(sessionId, speaks(40));
      await server.prompt(sessionId, "my name is Next");
      programs.signal(program, "SIGSTOP");
      await stop(sessionId);
      const state = await settled(sessionId);
      expect(endsOf(state)).toEqual([{ outcome: "stopped", untold: true }]);
      words.allowAll();
      programs.signal(program, "SIGCONT");
      const next = await server.follow(sessionId, ended(2));
      expect(endsOf(next)[1]).toEqual({ outcome: "finished" });
      expect(await isMarked(sessionId)).toBe(false);
    },
  );

  test("in the middle of a command, which ends as soon as it can be reached", patience, async () => {
    const sessionId = await server.newSession();
    const seconds = program === "agent" ? 987_001 : 987_002;
    await server.prompt(sessionId, commandOf(seconds));
    await server.follow(sessionId, isAtWork);
    await expect.poll(() => programs.runs(`sleep ${seconds}`), { timeout: 30_000 }).toBe(true);
    programs.signal(program, "SIGSTOP");
    await stop(sessionId);
    expect(endsOf(await settled(sessionId))).toEqual([{ outcome: "stopped", untold: true }]);
    expect(await isMarked(sessionId)).toBe(true);
    // What comes next waits, and says for what.
    await server.prompt(sessionId, "my name is Bo");
    const waitsFor = (message: string) => (state: ViewerState) =>
      state.entries.some(
        ({ kind, body }) => kind === "sandbox-phase" && body.phase === "waiting" && body.message === message,
      );
    const cause = causes[program === "agent" ? "agent-unstopped" : "sandbox-late"].message;
    await server.follow(sessionId, waitsFor(withoutAdvice(cause)));
    programs.signal(program, "SIGCONT");
    await expect.poll(() => programs.runs(`sleep ${seconds}`), { timeout: 30_000 }).toBe(false);
    await expect.poll(() => isMarked(sessionId), { timeout: 30_000 }).toBe(false);
    expect(endsOf(await server.follow(sessionId, ended(2)))[1]).toEqual({ outcome: "finished" });
  });

  test("while it asks", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, "Ask me a question");
    await server.follow(sessionId, hasOpen("ask"));
    programs.signal(program, "SIGSTOP");
    await stop(sessionId);
    expect(endsOf(await settled(sessionId))).toEqual([{ outcome: "stopped", untold: true }]);
  });

  test("while it is prompted", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, "my name is Bo");
    await server.follow(sessionId, ended());
    programs.signal(program, "SIGSTOP");
    await server.prompt(sessionId, commandOf(987_003));
    // Its log ends a moment before a turn makes way for the next.
    await expect.poll(() => isRunning(sessionId), { timeout: 30_000 }).toBe(true);
    // Into whatever it does by then.
    await sleep(500);
    await stop(sessionId);
    const late = sleep(settleMilliseconds, null, { ref: false });
    const state = await Promise.race([server.follow(sessionId, ended(2)), late]);
    expect(state && endsOf(state)[1]).toMatchObject({ outcome: "stopped" });
    programs.signal(program, "SIGCONT");
    await server.prompt(sessionId, "my name is Cy");
    expect(endsOf(await server.follow(sessionId, ended(3)))[2]).toEqual({ outcome: "finished" });
    expect(programs.runs("sleep 987003")).toBe(false);
  });

  test("while its workspace is placed and its session opened", patience, async () => {
    const sessionId = await server.newSession();
    programs.signal(program, "SIGSTOP");
    await server.prompt(sessionId, "my name is Bo");
    await sleep(500);
    await stop(sessionId);
    // The agent has not heard of it.
    expect(endsOf(await settled(sessionId))).toEqual([{ outcome: "stopped" }]);
    expect(await isMarked(sessionId)).toBe(false);
  });
});

describe("a stop that is stored while nobody runs the turn", () => {
  test("tells the agent when somebody does, before the turn ends", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, commandOf(987_010));
    await server.follow(sessionId, isAtWork);
    await expect.poll(() => programs.runs("sleep 987010"), { timeout: 30_000 }).toBe(true);
    await server.leave();
    await server.database.transaction(server.viewer, (tx) =>
      tx.execute(sql`update turns set stop_requested_at = now() where session_id = ${sessionId} and state = 'running'`),
    );
    await server.start();
    const state = await settled(sessionId);
    expect(endsOf(state)).toEqual([{ outcome: "stopped" }]);
    expect(programs.runs("sleep 987010")).toBe(false);
  });

  test("is kept where the agent does not answer then either, and survives the next server too", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, commandOf(987_011));
    await server.follow(sessionId, isAtWork);
    await expect.poll(() => programs.runs("sleep 987011"), { timeout: 30_000 }).toBe(true);
    await server.leave();
    await server.database.transaction(server.viewer, (tx) =>
      tx.execute(sql`update turns set stop_requested_at = now() where session_id = ${sessionId} and state = 'running'`),
    );
    programs.signal("agent", "SIGSTOP");
    await server.start();
    expect(endsOf(await settled(sessionId))).toEqual([{ outcome: "stopped", untold: true }]);
    await server.restart();
    expect(await isMarked(sessionId)).toBe(true);
    programs.signal("agent", "SIGCONT");
    await expect.poll(() => programs.runs("sleep 987011"), { timeout: 30_000 }).toBe(false);
    await expect.poll(() => isMarked(sessionId), { timeout: 30_000 }).toBe(false);
  });

  test("has nothing to end when the sandbox is gone", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, commandOf(987_012));
    await server.follow(sessionId, isAtWork);
    programs.signal("agent", "SIGSTOP");
    await stop(sessionId);
    await settled(sessionId);
    expect(await isMarked(sessionId)).toBe(true);
    await server.sleepAndWake(async () => {});
    await server.services.turns.sweep();
    expect(await isMarked(sessionId)).toBe(false);
    await server.prompt(sessionId, "my name is Bo");
    expect(endsOf(await server.follow(sessionId, ended(2)))[1]).toEqual({ outcome: "finished" });
  });
});
