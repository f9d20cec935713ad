import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { expect } from "vitest";
import { isAppError } from "../server/errors.ts";
import { turnOutcomes } from "../server/protocol/turn-states.ts";
import type { ViewerState } from "../server/protocol/viewer-state.ts";
import { signalPid } from "../server/sandboxes/backends/local/process-identity.ts";
import type { Turn } from "../server/turns/index.ts";
import { createSandboxPrograms } from "../server/turns/test-programs.ts";
import { ends, textOf } from "../server/turns/test-turns.ts";
import type { FaultTest } from "./fault-test.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { expectNextIsClean, type TurnFault } from "./turn-faults.ts";

/** One session, a person in a hurry, and whatever can go wrong beside it. Afterwards everything must agree. */
export const mixedFaults = { "everything at once": runSchedule } satisfies Record<string, TurnFault>;

/** What the agent is told, by which it is known later. Null: an answer was lost, so nobody knows which words hold. */
type Told = { fact: string; makes: string | null } | null;

interface Schedule {
  test: FaultTest;
  random: SeededRandom;
  sessionId: string;
  /** Of each prompt that was accepted and not removed. */
  told: Map<string, Told>;
  /** In the order of their coming, for the message of a failure. */
  steps: string[];
  /** What ends by itself. */
  later: Promise<unknown>[];
  facts: number;
}

type Step = (schedule: Schedule) => Promise<unknown>;

const people: Record<string, Step> = {
  prompt: send,
  "two prompts": async (schedule) => {
    await send(schedule);
    await send(schedule);
  },
  stop: ({ test: { server }, sessionId }) => attempt(() => server.services.turns.stop(server.viewer, sessionId)),
  undo: (schedule) => askFor(schedule, "undo"),
  redo: (schedule) => askFor(schedule, "redo"),
  compact: (schedule) => askFor(schedule, "compact"),
  answer: answerAll,
  edit: (schedule) =>
    withWaiting(schedule, async ({ server }, key) => {
      const next = makePrompt(schedule);
      const place = schedule.random.chance(0.5) ? { before: null } : {};
      const change = { ...key, ...place, prompt: next.prompt };
      const outcome = await attempt(() => server.services.turns.change(server.viewer, change));
      if (outcome !== "refused") schedule.told.set(key.turnId, outcome === "done" ? next : null);
    }),
  remove: (schedule) =>
    withWaiting(schedule, async ({ server }, key) => {
      const outcome = await attempt(() => server.services.turns.removeQueued(server.viewer, key));
      if (outcome !== "refused") schedule.told.set(key.turnId, null);
    }),
  "send now": (schedule) =>
    withWaiting(schedule, ({ server }, key) => attempt(() => server.services.turns.sendNow(server.viewer, key))),
};

const troubles: Record<string, Step> = {
  "agent stands still": (schedule) => standStill(schedule, "agent"),
  "sidecar stands still": (schedule) => standStill(schedule, "sidecar"),
  "agent is killed": async ({ test }) => createSandboxPrograms(test.server.home).signal("agent", "SIGKILL"),
  "database stands still": async (schedule) => {
    const pids = await backendsOf(schedule.test);
    const signalAll = (signal: NodeJS.Signals) => {
      for (const pid of pids) signalPid(pid, signal);
    };
    signalAll("SIGSTOP");
    schedule.later.push(sleep(schedule.random.integer(100, 2_500)).then(() => signalAll("SIGCONT")));
  },
  "database closes its connections": async ({ test }) => {
    for (const pid of await backendsOf(test)) signalPid(pid, "SIGTERM");
  },
  "events are cut": async ({ test }) => test.proxy.cut(),
  "another server": ({ test }) => test.server.restart(),
  snapshot: async ({ test: { server }, sessionId, later }) => {
    const taking = { sessionId, signal: AbortSignal.timeout(60_000) };
    later.push(attempt(() => server.services.snapshots.take(server.viewer, taking)));
  },
};

async function runSchedule(test: FaultTest, random: SeededRandom): Promise<string> {
  const sessionId = await test.server.newSession();
  const schedule: Schedule = { test, random, sessionId, told: new Map(), steps: [], later: [], facts: 0 };
  try {
    await send(schedule);
    for (let left = random.integer(6, 14); left > 0; left--) {
      await sleep(random.chance(0.3) ? random.integer(0, 2_500) : random.integer(0, 250));
      if (random.chance(0.2)) await untilQuiet(schedule, 15_000);
      const kind = random.chance(0.3) ? troubles : people;
      const names = Object.keys(kind) as [string, ...string[]];
      const name = random.pick(names);
      schedule.steps.push(name);
      await kind[name]?.(schedule);
    }
    await Promise.all(schedule.later);
    if (!(await untilQuiet(schedule, 120_000))) throw new Error("Its turns do not end.");
    await expectAgreement(schedule);
  } catch (error) {
    throw new Error(`After ${schedule.steps.join(", ")}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
  return schedule.steps.join(", ");
}

/** As a page does it: the same key until somebody answers. */
async function send(schedule: Schedule): Promise<void> {
  const { sessionId, told, test } = schedule;
  const { prompt, ...made } = makePrompt(schedule);
  const idempotencyKey = crypto.randomUUID();
  const accepted = await repeat(() => {
    const { services, viewer } = test.server;
    return services.turns.start(viewer, { sessionId, prompt, idempotencyKey });
  });
  told.set(accepted.id, made);
}

function makePrompt(schedule: Schedule): { prompt: string; fact: string; makes: string | null } {
  schedule.facts += 1;
  const fact = `fact-${schedule.facts}-`;
  const makes = `outputs/${schedule.facts}.txt`;
  return schedule.random.pick([
    { prompt: `run \`echo 1 > ${makes} # ${fact}\``, fact, makes },
    { prompt: `run \`sleep 1; echo 1 > ${makes} # ${fact}\``, fact, makes },
    { prompt: `my name is ${fact}`, fact, makes: null },
    { prompt: `Write a long text of 80 words, ${fact}`, fact, makes: null },
    { prompt: `ask me a question, ${fact}`, fact, makes: null },
    { prompt: `fail once with 500, ${fact}`, fact, makes: null },
  ]);
}

/** `unknown`: the answer was lost, so it may have been done. */
async function attempt(work: () => Promise<unknown>): Promise<"done" | "refused" | "unknown"> {
  try {
    await work();
    return "done";
  } catch (error) {
    if (!isAppError(error)) throw error;
    return error.kind === "conflict" || error.kind === "not-found" ? "refused" : "unknown";
  }
}

async function repeat<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isAppError(error) || error.kind !== "unavailable" || tries === 20) throw error;
      await sleep(200);
    }
  }
}

async function askFor({ test: { server }, sessionId }: Schedule, verb: "undo" | "redo" | "compact"): Promise<void> {
  const input = { sessionId, idempotencyKey: crypto.randomUUID() };
  await attempt(() => repeat(() => server.services.turns[verb](server.viewer, input)));
}

async function answerAll({ test: { server }, sessionId }: Schedule): Promise<void> {
  await attempt(async () => {
    for (const ask of await server.services.turns.listAsks(server.viewer, sessionId)) {
      if (ask.state !== "pending") continue;
      const { questions } = ask.request as { questions: { options: { label: string }[] }[] };
      const answers = questions.map(({ options }) => [options[0]?.label ?? ""]);
      await server.services.turns.answer(server.viewer, { askId: ask.id, answer: { answers } });
    }
  });
}

/** Of what waits at this moment one, by chance. */
async function withWaiting(
  schedule: Schedule,
  work: (test: FaultTest, key: { sessionId: string; turnId: string }) => Promise<unknown>,
): Promise<void> {
  const { test, random, sessionId } = schedule;
  const waiting = (await listTurns(schedule)).filter(({ state, kind }) => state === "queued" && kind === "prompt");
  const chosen = waiting[random.integer(0, Math.max(0, waiting.length - 1))];
  if (chosen) await work(test, { sessionId, turnId: chosen.id });
}

function listTurns({ test: { server }, sessionId }: Schedule): Promise<Turn[]> {
  return repeat(async () => (await server.services.turns.list(server.viewer, sessionId, { limit: 100 })).turns);
}

/** Nothing runs or waits any more. What is asked is answered meanwhile. */
async function untilQuiet(schedule: Schedule, milliseconds: number): Promise<boolean> {
  for (const deadline = Date.now() + milliseconds; Date.now() < deadline; await sleep(100)) {
    await answerAll(schedule);
    const turns = await listTurns(schedule);
    if (turns.every(({ state }) => turnOutcomes.some((outcome) => outcome === state))) return true;
  }
  return false;
}

async function standStill({ test, random, later }: Schedule, program: "agent" | "sidecar"): Promise<void> {
  const programs = createSandboxPrograms(test.server.home);
  programs.signal(program, "SIGSTOP");
  later.push(sleep(random.integer(200, 8_000)).then(() => programs.signal(program, "SIGCONT")));
}

/** Of the connections of this server. */
async function backendsOf({ server }: FaultTest): Promise<number[]> {
  const owner = postgres(server.ownerUrl, { max: 1 });
  try {
    const rows = await owner<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    return rows.map(({ pid }) => pid);
  } finally {
    await owner.end();
  }
}

async function expectAgreement(schedule: Schedule): Promise<void> {
  const { test, sessionId, told } = schedule;
  const { server } = test;
  // Whatever was still to be found out is found out before it.
  const asked = await server.prompt(sessionId, "what do you remember");
  const state = await test.follow({ sessionId, turnIds: [] }, (now) => endOf(now, asked) !== undefined, 120_000);
  const turns = await listTurns(schedule);
  const byId = new Map(turns.map((turn) => [turn.id, turn]));

  expect(endOf(state, asked)).toEqual({ outcome: "finished" });
  expect(state.entries.filter(({ open }) => open)).toEqual([]);
  const atWork = ({ kind, body }: ViewerState["entries"][number]) =>
    kind === "tool_call" && !body.discarded && (body.status === "pending" || body.status === "in_progress");
  expect(state.entries.filter(atWork)).toEqual([]);
  const hosts = turns.filter(({ hostTurnId }) => hostTurnId === null).map(({ id }) => id);
  const ended = ends(state).map(({ turnId }) => turnId);
  expect([...ended].sort(), "each turn ends once").toEqual([...hosts].sort());
  for (const { turnId, body } of ends(state)) {
    expect(body).toMatchObject({ outcome: byId.get(turnId ?? "")?.state });
  }
  const lost = [...told].filter(([id, what]) => what && !byId.has(id));
  expect(lost, "what was accepted is there").toEqual([]);

  const answer = textOf({ entries: state.entries.filter(({ turnId }) => turnId === asked) });
  const signal = AbortSignal.timeout(30_000);
  const listed = await server.services.files.list(server.viewer, { sessionId, path: "outputs", signal });
  const files = listed.entries.map(({ path }) => path);
  const found: object[] = [];
  const expected: object[] = [];
  for (const { id, prompt, state: outcome, undoneAt, hostTurnId } of turns) {
    const what = told.get(id);
    const isKnown = undoneAt === null;
    // What was cut may have reached the agent or not.
    if (!what || (isKnown && outcome !== "finished")) continue;
    const hasGuests = turns.some((turn) => turn.hostTurnId === id) || hostTurnId !== null;
    const isMade = what.makes !== null && !hasGuests;
    expected.push({ prompt, undoneAt, knows: isKnown, ...(isMade && { made: isKnown }) });
    found.push({
      prompt,
      undoneAt,
      knows: answer.includes(what.fact),
      ...(isMade && { made: files.includes(what.makes ?? "") }),
    });
  }
  expect(found, "log, files and the agent's memory agree").toEqual(expected);
  await expectNextIsClean(test, { sessionId, turnIds: ended.map((id) => id ?? "") });
}

function endOf(state: ViewerState, turnId: string): object | undefined {
  return ends(state).find((end) => end.turnId === turnId)?.body;
}
