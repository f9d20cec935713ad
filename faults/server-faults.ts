import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { expect } from "vitest";
import { ends } from "../server/turns/test-turns.ts";
import { requestStop } from "../server/turns/turn-rows.ts";
import { endDoomedServer, startDoomedServer } from "./doomed-servers.ts";
import type { FaultTest, SessionRun } from "./fault-test.ts";
import { anyScenario, type Scenario, scenarios } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { expectNextIsClean, type TurnFault } from "./turn-faults.ts";

/** Servers that go in mid-turn or stand still, and others that take over. */
export const serverFaults = {
  "server paused": (test, random) => pauseServer(test, random, null),
  "server paused before a write": (test, random) => pauseServer(test, random, random.pick(lateWrites)),
  "server killed": async (test, random) => {
    const { scenario, run } = await beginElsewhere(test, random, { signal: "SIGKILL" });
    await test.finishAlike(run, scenario);
    return scenario.name;
  },
  // What runs is ended before the turn is, and what waits behind it begins.
  "stopped while its server is dead": async (test, random) => {
    let stopped: string | null = null;
    const { server } = test;
    const { scenario, run } = await beginElsewhere(test, random, {
      signal: "SIGKILL",
      async whileAway(sessionId) {
        stopped = await requestStop(server.database, server.viewer, sessionId);
      },
    });
    const state = await test.finish(run);
    for (const { turnId, body } of ends(state)) {
      expect(body).toEqual({ outcome: turnId === stopped ? "stopped" : "finished" });
    }
    await expectNextIsClean(test, run);
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
  "servers take over from each other": async (test, random) => {
    const scenario = random.pick(anyScenario);
    const { milliseconds } = await test.reference(scenario);
    const { server } = test;
    const replica = await server.startReplica();
    const { loops } = server.wiring;
    try {
      for (const loop of loops) loop.start();
      const run = await test.begin(scenario);
      const finished = test.finishAlike(run, scenario);
      finished.catch(() => {});
      for (let times = random.integer(1, 3); times > 0; times--) {
        await sleep(random.integer(0, milliseconds));
        await server.handOver();
      }
      await finished;
      await expectNextIsClean(test, run);
    } finally {
      await Promise.all(loops.map((loop) => loop.stop()));
      await replica.close();
      await server.restart();
    }
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

/** Statements of a turn beside its log, each by words of its own. */
const lateWrites = ["set agent_session_id =", "set agent_message_id =", "insert into asks"] as const;

/**
 * It wakes up in the middle of what the other one does, or after it, and believes that all is as it was. With
 * `before` it does so afterwards, and goes on with a write that it had just been about to make.
 */
async function pauseServer(test: FaultTest, random: SeededRandom, before: string | null): Promise<string> {
  const pause = { name: "paused", signal: "SIGSTOP", pauseBefore: before } as const;
  const { scenario, run, child } = await beginElsewhere(test, random, pause);
  try {
    const { milliseconds } = await test.reference(scenario);
    const finished = test.finishAlike(run, scenario);
    if (before === null) {
      await Promise.race([finished, sleep(random.integer(0, milliseconds + 2_000))]);
      child.kill("SIGCONT");
    }
    const { version } = await finished;
    const rows = await readRows(test, run);
    child.kill("SIGCONT");
    await sleep(lateMilliseconds);
    const { log } = test.server.services;
    const late = await log.read({ actor: test.server.viewer, sessionId: run.sessionId, after: version });
    expect(late?.entries).toEqual([]);
    expect(await readRows(test, run), "what it writes beside the log changes nothing").toEqual(rows);
    await expectNextIsClean(test, run);
  } finally {
    await endDoomedServer(child);
  }
  return before === null ? scenario.name : `${scenario.name}, before ${before}`;
}

/** All that a turn writes beside the log. */
function readRows({ server: { database, viewer } }: FaultTest, { sessionId }: SessionRun) {
  return database.transaction(viewer, async (tx) => ({
    session: [...(await tx.execute(sql`select * from sessions where id = ${sessionId}`))],
    turns: [...(await tx.execute(sql`select * from turns where session_id = ${sessionId} order by position`))],
    asks: [...(await tx.execute(sql`select * from asks where session_id = ${sessionId} order by created_at`))],
  }));
}

/** Longer than a process that goes on needs to notice that its lease is gone. */
const lateMilliseconds = 6_000;

/**
 * The prompt is sent by a process of its own, which gets the signal in mid-turn; then this one starts again.
 * With a name it is no predecessor of this one, and its lease has to lapse.
 */
async function beginElsewhere(
  test: FaultTest,
  random: SeededRandom,
  input: {
    name?: string;
    signal: "SIGKILL" | "SIGSTOP";
    pauseBefore?: string | null;
    whileAway?(sessionId: string): Promise<void>;
  },
): Promise<{ scenario: Scenario; run: SessionRun; child: ChildProcess }> {
  const { name, signal, pauseBefore = null } = input;
  const isAsk = pauseBefore?.includes("asks");
  const scenario = isAsk ? scenarios.question : random.pick(anyScenario);
  const { milliseconds } = await test.reference(scenario);
  const { server } = test;
  const sessionId = await server.newSession();
  await server.leave();
  const { viewer } = server;
  const setup = { ...server.setup, ...(name && { name }) };
  const asks = scenario.prompts.map((prompt) => ({ kind: "prompt" as const, prompt }));
  const doomed = await startDoomedServer({ setup, viewer, sessionId, asks, pauseBefore }).catch(async (error) => {
    await server.start();
    throw error;
  });
  const { child } = doomed;
  const turnIds = doomed.turnIds.map((id) => id ?? "");
  try {
    if (pauseBefore) await stoodStill(child);
    else await sleep(random.integer(20, milliseconds + 300));
    if (signal === "SIGKILL") await endDoomedServer(child);
    else {
      child.kill(signal);
      await server.lapseLeases();
    }
    await input.whileAway?.(sessionId);
    return { scenario, run: { sessionId, turnIds }, child };
  } catch (error) {
    await endDoomedServer(child);
    throw error;
  } finally {
    await server.start();
  }
}

/** By itself, as the kernel says. */
async function stoodStill({ pid }: ChildProcess): Promise<void> {
  const state = async () => (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.[0];
  await expect.poll(state, { timeout: 30_000 }).toBe("T");
}
