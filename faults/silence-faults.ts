import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { ViewerState } from "../server/protocol/viewer-state.ts";
import { createSandboxPrograms, type SandboxPrograms } from "../server/turns/test-programs.ts";
import { ends } from "../server/turns/test-turns.ts";
import type { FaultTest } from "./fault-test.ts";
import { anyScenario, scenarios } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { expectNextIsClean, type TurnFault } from "./turn-faults.ts";

/** Programs of the sandbox that stand still for a while or die as they start, and people who stop a turn meanwhile. */
export const silenceFaults = {
  "agent stands still": (test, random) => standStill(test, random, "agent"),
  "sidecar stands still": (test, random) => standStill(test, random, "sidecar"),
  "stopped while the agent stands still": (test, random) => stopInSilence(test, random, "agent"),
  "stopped while the sidecar stands still": (test, random) => stopInSilence(test, random, "sidecar"),
  "stopped in any phase of a wake": async (test, random) => {
    const scenario = random.pick(anyScenario);
    await test.reference(scenario);
    await test.server.leave({ sleep: true });
    await test.server.start();
    const run = await test.begin({ ...scenario, prompts: [scenario.prompts[0]] });
    const at = random.integer(0, 8_000);
    await sleep(at);
    await test.server.services.turns.stop(test.server.viewer, run.sessionId);
    expectWanted(await test.finish(run), ["stopped", "finished"]);
    await expectNextIsClean(test, run);
    return `${scenario.name}, after ${at} ms`;
  },
  "agent dies at its start": async (test, random) => {
    await test.reference(scenarios.three);
    const programs = programsOf(test);
    let kills = random.integer(2, 8);
    const kill = () => {
      if (kills > 0 && programs.signal("agent", "SIGKILL")) kills -= 1;
    };
    kill();
    const killing = setInterval(kill, random.integer(100, 700));
    try {
      const run = await test.begin(scenarios.three);
      const state = await test.finish(run);
      // Only what was handed over may have been cut, and says so.
      for (const { body } of ends(state)) {
        if (!("outcome" in body) || body.outcome === "finished") continue;
        expect(body).toMatchObject({ outcome: "failed", code: "agent-exited" });
      }
      await expect.poll(() => kills, { timeout: 60_000 }).toBe(0);
      await expectNextIsClean(test, run);
    } finally {
      clearInterval(killing);
    }
    return "";
  },
} satisfies Record<string, TurnFault>;

type Program = Parameters<SandboxPrograms["signal"]>[0];

const programsOf = ({ server }: FaultTest) => createSandboxPrograms(server.home);

/** Whatever it was doing, it goes on: nobody loses anything. */
async function standStill(test: FaultTest, random: SeededRandom, program: Program): Promise<string> {
  const scenario = random.pick(anyScenario);
  const { milliseconds } = await test.reference(scenario);
  const programs = programsOf(test);
  const isBefore = random.chance(0.3);
  const [at, lasts] = [random.integer(0, milliseconds), random.integer(300, 20_000)];
  if (isBefore) programs.signal(program, "SIGSTOP");
  try {
    const run = await test.begin(scenario);
    const finished = test.finishAlike(run, scenario);
    finished.catch(() => {});
    if (!isBefore) await sleep(at);
    programs.signal(program, "SIGSTOP");
    await sleep(lasts);
    programs.signal(program, "SIGCONT");
    await finished;
    await expectNextIsClean(test, run);
  } finally {
    programs.signal(program, "SIGCONT");
  }
  return `${scenario.name}, ${isBefore ? "before it" : `after ${at} ms`}, for ${lasts} ms`;
}

/** The stop settles while nothing answers; what ran is ended afterwards, and nothing of it is in the next turn. */
async function stopInSilence(test: FaultTest, random: SeededRandom, program: Program): Promise<string> {
  const scenario = random.pick(anyScenario);
  const { milliseconds } = await test.reference(scenario);
  const programs = programsOf(test);
  const [at, before] = [random.integer(0, milliseconds), random.integer(0, 1) * random.integer(0, 12_000)];
  const run = await test.begin({ ...scenario, prompts: [scenario.prompts[0]] });
  try {
    await sleep(at);
    programs.signal(program, "SIGSTOP");
    await sleep(before);
    await test.server.services.turns.stop(test.server.viewer, run.sessionId);
    const state = await test.finish(run, settleMilliseconds);
    expectWanted(state, ["stopped", "finished"]);
    expect(state.entries.filter(({ kind, body }) => kind === "tool_call" && isAtWork(body.status))).toEqual([]);
    programs.signal(program, "SIGCONT");
    await expectNextIsClean(test, run);
  } finally {
    programs.signal(program, "SIGCONT");
  }
  return `${scenario.name}, silent after ${at} ms, stopped ${before} ms later`;
}

/** 10 s are promised; the rest is for a machine that does much else. */
const settleMilliseconds = 20_000;

const isAtWork = (status: string) => status === "pending" || status === "in_progress";

function expectWanted(state: ViewerState, outcomes: string[]): void {
  const [end] = ends(state);
  expect(outcomes).toContain(end && "outcome" in end.body ? end.body.outcome : null);
}
