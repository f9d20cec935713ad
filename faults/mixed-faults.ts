import { setTimeout as sleep } from "node:timers/promises";
import { expectAgreement } from "./expect-agreement.ts";
import type { FaultTest } from "./fault-test.ts";
import { peopleSteps } from "./people-steps.ts";
import { createSchedule, type Schedule, type Step, send, untilQuiet } from "./schedule.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { endReplica, rareTroubles, startLoops, stopLoops, usualTroubles } from "./trouble-steps.ts";
import type { TurnFault } from "./turn-faults.ts";

/** One session, a person in a hurry, and whatever can go wrong beside it. Afterwards everything must agree. */
export const mixedFaults = { "everything at once": runSchedule } satisfies Record<string, TurnFault>;

/** More than all that a schedule waits for: what does not end is said by it, with the steps that led there. */
export const mixedTimeout = 600_000;

/** Everything that people do, every program that can stand still, and two of what else can go wrong. */
function planSteps(random: SeededRandom): [name: string, step: Step][] {
  const rare = random.shuffle(Object.entries(rareTroubles)).slice(0, 2);
  return random.shuffle([...Object.entries(peopleSteps), ...Object.entries(usualTroubles), ...rare]);
}

async function runSchedule(test: FaultTest, random: SeededRandom): Promise<string> {
  await test.server.restart();
  startLoops(test);
  const schedule = await createSchedule(test);
  try {
    await send(schedule, random.fork());
    for (const [name, step] of planSteps(random)) await take(schedule, { name, step, random: random.fork() });
    schedule.steps.push("that is all");
    await Promise.all(schedule.later);
    await expectEnd(schedule);
    if (schedule.replica) {
      await endReplica(schedule);
      await expectEnd(schedule);
    }
    await expectAgreement(schedule);
  } catch (error) {
    throw new Error(`After ${schedule.steps.join(", ")}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  } finally {
    await Promise.allSettled(schedule.later);
    await endReplica(schedule);
    await stopLoops(test);
  }
  return schedule.steps.join(", ");
}

async function take(
  schedule: Schedule,
  { name, step, random }: { name: string; step: Step; random: SeededRandom },
): Promise<void> {
  await sleep(random.chance(0.3) ? random.integer(0, 2_000) : random.integer(0, 250));
  const place = schedule.steps.push(name) - 1;
  schedule.steps[place] = `${name} (${await step(schedule, random)})`;
}

async function expectEnd(schedule: Schedule): Promise<void> {
  if (!(await untilQuiet(schedule, 120_000))) throw new Error("Its turns do not end.");
}
