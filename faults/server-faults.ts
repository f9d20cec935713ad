import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { ends } from "../server/turns/test-turns.ts";
import type { FaultTest, SessionRun } from "./fault-test.ts";
import { anyScenario, type Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { expectNextIsClean, type TurnFault } from "./turn-faults.ts";

/** Servers that go in mid-turn, and others that take over with the same home. */
export const serverFaults = {
  "server killed": async (test, random) => {
    const { scenario, run } = await beginElsewhere(test, random);
    await test.finishAlike(run, scenario);
    return scenario.name;
  },
  "server replaced": async (test, random) => {
    const scenario = random.pick(anyScenario);
    const { milliseconds } = await test.reference(scenario);
    const run = await test.begin(scenario);
    await sleep(random.integer(50, milliseconds));
    await test.server.restart();
    await test.finishAlike(run, scenario);
    return scenario.name;
  },
  // Its sandboxes end with it: what the agent was doing is cut off, and said so.
  "server stopped": async (test, random) => {
    const scenario = random.pick(anyScenario);
    const { milliseconds } = await test.reference(scenario);
    const run = await test.begin({ ...scenario, prompts: [scenario.prompts[0]] });
    await sleep(random.integer(50, milliseconds));
    await test.server.leave({ sleep: true });
    await test.server.start();
    const state = await test.finish(run);
    const end = ends(state)[0]?.body;
    if (!end || !("outcome" in end)) throw new Error("The turn did not end.");
    if (end.outcome !== "finished") expect(end).toMatchObject({ outcome: "failed", message: expect.any(String) });
    await expectNextIsClean(test, run);
    return scenario.name;
  },
} satisfies Record<string, TurnFault>;

/** The prompt is sent by a process of its own, which is killed in mid-turn; then this one starts again. */
async function beginElsewhere(test: FaultTest, random: SeededRandom): Promise<{ scenario: Scenario; run: SessionRun }> {
  const scenario = random.pick(anyScenario);
  const { milliseconds } = await test.reference(scenario);
  const { server } = test;
  const sessionId = await server.newSession();
  await server.leave();
  let run: SessionRun;
  try {
    const child = startDoomedServer({
      place: server.place,
      viewer: server.viewer,
      sessionId,
      prompts: scenario.prompts,
    });
    try {
      const turnIds = (await firstLine(child)).split(" ");
      run = { sessionId, turnIds };
      await sleep(random.integer(20, milliseconds + 300));
    } finally {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
  } finally {
    await server.start();
  }
  return { scenario, run };
}

function startDoomedServer(input: object): ChildProcess {
  const program = resolve(import.meta.dirname, "doomed-server.ts");
  return spawn(process.execPath, [program, JSON.stringify(input)], { stdio: ["ignore", "pipe", "inherit"] });
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  const signal = AbortSignal.timeout(30_000);
  const [text] = await once(stdout ?? process.stdin, "data", { signal });
  return String(text).trim();
}
