import { expect, test } from "vitest";
import { chooseSeeds } from "../scripts/lib/fault-seeds.mjs";
import { faultOf, seedsOfRound } from "./describe-faults.ts";
import { mixedFaults } from "./mixed-faults.ts";
import { serverFaults } from "./server-faults.ts";
import { silenceFaults } from "./silence-faults.ts";
import { namedTrafficFaults } from "./traffic-faults.ts";
import { turnFaults } from "./turn-faults.ts";
import { verbFaults } from "./verb-faults.ts";

test("the seeds of every run of the tests bring up each fault", () => {
  const seeds = chooseSeeds({ seed: undefined, seeds: undefined, otherwise: seedsOfRound });
  const all = Object.keys({
    ...namedTrafficFaults,
    ...turnFaults,
    ...serverFaults,
    ...silenceFaults,
    ...verbFaults,
    ...mixedFaults,
  });
  expect([...new Set(seeds.map(faultOf))].sort()).toEqual(all.sort());
});
