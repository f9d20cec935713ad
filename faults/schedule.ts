import { setTimeout as sleep } from "node:timers/promises";
import { isAppError } from "../server/errors.ts";
import { turnOutcomes } from "../server/protocol/turn-states.ts";
import type { Turn } from "../server/turns/index.ts";
import type { Peer } from "../server/turns/test-turns.ts";
import type { FaultTest } from "./fault-test.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** What the agent is told, by which it is known later, and the file it makes. Null: nobody knows which words hold. */
export type Told = { fact: string; makes: string | null } | null;

/** One session with all that happens to it. */
export interface Schedule {
  test: FaultTest;
  sessionId: string;
  /** Of each prompt that was accepted and not removed. */
  told: Map<string, Told>;
  /** Of words that were taken back before the agent had them. */
  neverTold: string[];
  /** Answers that were accepted. */
  answered: Set<string>;
  /** In the order of their coming, with what became of them. */
  steps: string[];
  /** What ends by itself. */
  later: Promise<unknown>[];
  /** Another server beside the test's own, once there is one. */
  replica: Peer | null;
  facts: number;
}

/** Says what became of it, for the message of a failure. */
export type Step = (schedule: Schedule, random: SeededRandom) => Promise<string>;

export async function createSchedule(test: FaultTest): Promise<Schedule> {
  const sessionId = await test.server.newSession();
  const soFar = { told: new Map(), neverTold: [], answered: new Set<string>(), steps: [], later: [], facts: 0 };
  return { test, sessionId, ...soFar, replica: null };
}

/** What fails is said at the end. */
export function goOnWith({ later }: Schedule, work: Promise<unknown>): void {
  work.catch(() => {});
  later.push(work);
}

/** `unknown`: the answer was lost, so it may have been done. */
export type Outcome = "done" | "refused" | "unknown";

export async function attempt(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    await work();
    return "done";
  } catch (error) {
    if (!isAppError(error)) throw error;
    return error.kind === "conflict" || error.kind === "not-found" ? "refused" : "unknown";
  }
}

/** As a page does it, until somebody answers. */
export async function repeat<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isAppError(error) || error.kind !== "unavailable" || tries === 20) throw error;
      await sleep(200);
    }
  }
}

/** Returns the turn's id. */
export async function send(schedule: Schedule, random: SeededRandom, made = makePrompt(schedule, random)) {
  const { sessionId, told, test } = schedule;
  const { prompt, ...what } = made;
  const idempotencyKey = crypto.randomUUID();
  const accepted = await repeat(() => {
    const { services, viewer } = test.server;
    return services.turns.start(viewer, { sessionId, prompt, idempotencyKey });
  });
  told.set(accepted.id, what);
  return accepted.id;
}

export interface MadePrompt {
  prompt: string;
  fact: string;
  makes: string | null;
}

export function makePrompt(schedule: Schedule, random: SeededRandom): MadePrompt {
  const { fact, makes } = nextFact(schedule);
  return random.pick([
    { prompt: `run \`echo 1 > ${makes} # ${fact}\``, fact, makes },
    { prompt: `run \`sleep 1; echo 1 > ${makes} # ${fact}\``, fact, makes },
    { prompt: `my name is ${fact}`, fact, makes: null },
    { prompt: `Write a long text of 80 words, ${fact}`, fact, makes: null },
    { prompt: `fail once with 500, ${fact}`, fact, makes: null },
    makeQuestion(fact),
  ]);
}

export const askedQuestion = (schedule: Schedule) => makeQuestion(nextFact(schedule).fact);
const makeQuestion = (fact: string) => ({ prompt: `ask me a question, ${fact}`, fact, makes: null });

function nextFact(schedule: Schedule) {
  schedule.facts += 1;
  return { fact: `fact-${schedule.facts}-`, makes: `outputs/${schedule.facts}.txt` };
}

export function listTurns({ test: { server }, sessionId }: Schedule): Promise<Turn[]> {
  return repeat(async () => (await server.services.turns.list(server.viewer, sessionId, { limit: 100 })).turns);
}

export async function listPending({ test: { server }, sessionId }: Schedule) {
  const asks = await server.services.turns.listAsks(server.viewer, sessionId);
  return asks.filter(({ state }) => state === "pending");
}

/** How many were answered. */
export async function answerAll(schedule: Schedule): Promise<number> {
  const { server } = schedule.test;
  let count = 0;
  await attempt(async () => {
    for (const { id, request } of await listPending(schedule)) {
      const { questions } = request as { questions: { options: { label: string }[] }[] };
      const answers = questions.map(({ options }) => [options[0]?.label ?? ""]);
      await server.services.turns.answer(server.viewer, { askId: id, answer: { answers } });
      schedule.answered.add(id);
      count += 1;
    }
  });
  return count;
}

const isOver = ({ state }: Turn) => turnOutcomes.some((outcome) => outcome === state);

/** Nothing runs or waits any more. What is asked is answered meanwhile. */
export async function untilQuiet(schedule: Schedule, milliseconds: number): Promise<boolean> {
  for (const deadline = Date.now() + milliseconds; Date.now() < deadline; await sleep(100)) {
    await answerAll(schedule);
    if ((await listTurns(schedule)).every(isOver)) return true;
  }
  return false;
}

export async function isQuiet(schedule: Schedule): Promise<boolean> {
  return (await listTurns(schedule)).every(isOver);
}
