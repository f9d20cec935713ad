import { afterAll, beforeAll, describe, test } from "vitest";
import { createFaultTest, type FaultTest } from "./fault-test.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { serverFaults } from "./server-faults.ts";
import { runTrafficFault, type TrafficFaultName, trafficFaults } from "./traffic-faults.ts";
import { type TurnFault, turnFaults } from "./turn-faults.ts";

/**
 * SEEDS=n runs the seeds 1 to n, SEED=k that one, SEED=k,l those. The seed chooses the fault, what is asked and where it
 * breaks. Each fault comes up once in a round of seeds, the quick ones first.
 */
const faults: Record<string, TurnFault> = {
  ...Object.fromEntries(
    (Object.keys(trafficFaults) as TrafficFaultName[]).map((name): [string, TurnFault] => [
      name,
      (fault, random) => runTrafficFault(fault, random, name),
    ]),
  ),
  ...turnFaults,
  ...serverFaults,
};

const order = [
  "events cut",
  "server killed",
  "status idle dropped",
  "events away until after the end",
  "stopped at once",
  "events doubled",
  "events lost before the sidecar",
  "model refuses",
  "agent is killed",
  "three prompts at once",
  "both idles dropped",
  "events late",
  "server stopped",
  "events cut, and again",
  "session.idle dropped",
  "model fails once",
  "sidecar out of reach",
  "events forgotten by the sidecar",
  "server replaced",
  "server paused",
  "servers take over from each other",
  "answer to the prompt lost",
  "last message update dropped",
  "context overflows",
  "stopped while another waits",
  "model is unknown",
  "model fails until the agent gives up",
  "server paused before a write",
];

const { SEED, SEEDS = "10" } = process.env;
const seeds = SEED ? SEED.split(",").map(Number) : Array.from({ length: Number(SEEDS) }, (_, index) => index + 1);

let stack: FaultTest;
beforeAll(async () => {
  stack = await createFaultTest();
});
afterAll(async () => {
  await stack?.close();
});

describe("with the fault of a seed, every turn ends once and the log is that of a run without it", () => {
  for (const seed of seeds) {
    const name = order[(seed - 1) % order.length] ?? "";
    test(`seed ${seed}: ${name}`, async ({ annotate }) => {
      const detail = await faults[name]?.(stack, createSeededRandom(seed));
      if (detail) await annotate(detail);
    });
  }
});

test("every fault has its place in the order", ({ expect }) => {
  expect([...order].sort()).toEqual(Object.keys(faults).sort());
});
