import { setTimeout as sleep } from "node:timers/promises";
import {
  answerAll,
  askedQuestion,
  attempt,
  isQuiet,
  listTurns,
  makePrompt,
  repeat,
  type Schedule,
  type Step,
  send,
  untilQuiet,
} from "./schedule.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** What a person in a hurry does. Each makes sure, most times, that there is something to do it with. */
export const peopleSteps = {
  prompt: async (schedule, random) => {
    await send(schedule, random);
    return "done";
  },
  "two prompts": async (schedule, random) => {
    await send(schedule, random);
    await send(schedule, random);
    return "done";
  },
  stop: async (schedule, random) => {
    const { server } = schedule.test;
    if (random.chance(0.8) && (await isQuiet(schedule))) {
      await send(schedule, random);
      await sleep(random.integer(0, 1_500));
    }
    return attempt(() => server.services.turns.stop(server.viewer, schedule.sessionId));
  },
  undo: (schedule, random) => askInQuiet(schedule, random, "undo"),
  redo: async (schedule, random) => {
    const undo = random.chance(0.8) ? await askInQuiet(schedule, random, "undo") : "none";
    return `undo ${undo}, ${await askInQuiet(schedule, random, "redo")}`;
  },
  compact: (schedule) => ask(schedule, "compact"),
  answer: async (schedule, random) => {
    let count = await answerAll(schedule);
    if (count === 0 && random.chance(0.8)) {
      await send(schedule, random, askedQuestion(schedule));
      for (let looks = 0; looks < 50 && count === 0; looks++) {
        await sleep(100);
        count = await answerAll(schedule);
      }
    }
    return `${count}`;
  },
  edit: (schedule, random) =>
    withWaiting(schedule, random, async (key) => {
      const { server } = schedule.test;
      const { prompt, ...next } = makePrompt(schedule, random);
      const place = random.chance(0.5) ? { before: null } : {};
      const outcome = await attempt(() => server.services.turns.change(server.viewer, { ...key, ...place, prompt }));
      if (outcome === "done") takeBack(schedule, key.turnId);
      if (outcome !== "refused") schedule.told.set(key.turnId, outcome === "done" ? next : null);
      return outcome;
    }),
  remove: (schedule, random) =>
    withWaiting(schedule, random, async (key) => {
      const { server } = schedule.test;
      const outcome = await attempt(() => server.services.turns.removeQueued(server.viewer, key));
      if (outcome === "done") takeBack(schedule, key.turnId);
      if (outcome !== "refused") schedule.told.set(key.turnId, null);
      return outcome;
    }),
  "send now": (schedule, random) =>
    withWaiting(schedule, random, (key) => {
      const { server } = schedule.test;
      return attempt(() => server.services.turns.sendNow(server.viewer, key));
    }),
} satisfies Record<string, Step>;

/** The database said that it still waited, so the agent never gets to know it. */
function takeBack({ told, neverTold }: Schedule, turnId: string): void {
  const what = told.get(turnId);
  if (what) neverTold.push(what.fact);
}

async function askInQuiet(schedule: Schedule, random: SeededRandom, verb: "undo" | "redo"): Promise<string> {
  if (random.chance(0.8)) await untilQuiet(schedule, 20_000);
  return ask(schedule, verb);
}

function ask({ test: { server }, sessionId }: Schedule, verb: "undo" | "redo" | "compact"): Promise<string> {
  const input = { sessionId, idempotencyKey: crypto.randomUUID() };
  return attempt(() => repeat(() => server.services.turns[verb](server.viewer, input)));
}

/** Of what waits at this moment one, by chance. */
async function withWaiting(
  schedule: Schedule,
  random: SeededRandom,
  work: (key: { sessionId: string; turnId: string }) => Promise<string>,
): Promise<string> {
  const list = async () =>
    (await listTurns(schedule)).filter(({ state, kind }) => state === "queued" && kind === "prompt");
  let waiting = await list();
  if (waiting.length === 0 && random.chance(0.9)) {
    for (let count = 2; count > 0; count--) await send(schedule, random);
    waiting = await list();
  }
  const chosen = waiting[random.integer(0, Math.max(0, waiting.length - 1))];
  return chosen ? work({ sessionId: schedule.sessionId, turnId: chosen.id }) : "nothing waits";
}
