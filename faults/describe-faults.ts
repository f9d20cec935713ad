import { afterAll, beforeAll, describe, test } from "vitest";
import { chooseSeeds } from "../scripts/lib/fault-seeds.mjs";
import { createFaultTest, type FaultTest } from "./fault-test.ts";
import { createSeededRandom } from "./seeded-random.ts";
import type { TurnFault } from "./turn-faults.ts";

/**
 * SEEDS=n runs the seeds 1 to n, SEED=k that one, SEED=k,l those; otherwise one round. The seed chooses the fault,
 * what is asked and where it breaks. Each fault comes up once in a round of seeds; after the first, two of three
 * seeds are schedules of everything at once.
 */
export const faultOrder = [
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
  "agent stands still",
  "stopped while the sidecar stands still",
  "stopped while its server is dead",
  "agent dies at its start",
  "sidecar stands still",
  "stopped while the agent stands still",
  "stopped in any phase of a wake",
  "undo stopped",
  "summary stopped",
  "redo while the agent stands still",
  "redo stopped",
  "summary while the agent stands still",
  "undo while the agent stands still",
  "server killed in an undo, redo or summary",
  "undo, redo or summary while a stop is unconfirmed",
  "server superseded in an undo, redo or summary",
];

const { SEED, SEEDS } = process.env;
/** With the first schedule of everything at once. */
export const seedsOfRound = faultOrder.length + 2;
const seeds = chooseSeeds({ seed: SEED, seeds: SEEDS, otherwise: seedsOfRound });

export function faultOf(seed: number): string {
  const isMixed = seed > faultOrder.length && seed % 3 !== 0;
  return isMixed ? "everything at once" : (faultOrder[(seed - 1) % faultOrder.length] ?? "");
}

/**
 * One server for all of them, one after another. The files of faults run beside each other: what takes long has
 * several, each with its share of the seeds.
 */
export function describeFaults(
  faults: Record<string, TurnFault>,
  { share, of, timeout } = { share: 0, of: 1, timeout: 180_000 },
): void {
  const mine = seeds.filter((seed) => faultOf(seed) in faults).filter((_, index) => index % of === share);
  let stack: FaultTest | undefined;
  beforeAll(async () => {
    if (mine.length > 0) stack = await createFaultTest();
  }, 120_000);
  afterAll(() => stack?.close());

  describe.runIf(mine.length > 0)(
    "with the fault of a seed, every turn ends once and the log is that of a run without it",
    () => {
      for (const seed of mine) {
        const name = faultOf(seed);
        test(`seed ${seed}: ${name}`, { timeout }, async ({ annotate }) => {
          const fault = faults[name];
          if (!stack || !fault) throw new Error(`There is no fault ${name}.`);
          const detail = await fault(stack, createSeededRandom(seed));
          if (detail) await annotate(detail);
        });
      }
    },
  );

  // A file of which no seed was chosen has this test left.
  test("each of these faults comes up in a round of seeds", ({ expect }) => {
    const round = Array.from({ length: seedsOfRound }, (_, index) => faultOf(index + 1));
    expect(Object.keys(faults).filter((name) => !round.includes(name))).toEqual([]);
  });
}
