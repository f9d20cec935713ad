import { delimiter, dirname, join } from "node:path";
import { bootstrap } from "./lib/bootstrap.mjs";
import { bringBubblewrap } from "./lib/bring-bubblewrap.mjs";
import { chooseSeeds } from "./lib/fault-seeds.mjs";
import { Problem, runProgram } from "./lib/problem.mjs";
import { createTestRunner } from "./lib/run-tests.mjs";
import { outcomeLines } from "./lib/test-summary.mjs";

/** `npm run test:faults`: SEEDS=n runs the seeds 1 to n (100 when not given), SEED=k that one alone. */
let summary = ["0 passed, 1 failed"];
await runProgram(async () => {
  const { SEED, SEEDS = "100", PATH, NODE_ENV: _, ...inherited } = process.env;
  const seeds = requireSeeds(SEED, SEEDS);
  const { root, steps, node } = await bootstrap();
  const path = [dirname(node), join(root, "node_modules", ".bin"), PATH].filter(Boolean).join(delimiter);
  const environment = { ...inherited, SEED: seeds.join(","), PATH: path };
  const runner = createTestRunner({ root, steps, environment });
  try {
    await bringBubblewrap({ root, steps });
    const ok = await runner.vitest({
      name: "faults",
      projects: ["integration"],
      words: ["faults/", "--reporter=verbose"],
      // A turn that hangs fails its own seed after 3 minutes.
      timeoutMilliseconds: (5 + seeds.length) * 60_000,
    });
    summary = outcomeLines(runner.all);
    return ok ? 0 : 1;
  } finally {
    runner.close();
  }
});
console.log(summary.join("\n"));

/**
 * @param {string | undefined} seed
 * @param {string} seeds
 */
function requireSeeds(seed, seeds) {
  try {
    return chooseSeeds({ seed, seeds, otherwise: 100 });
  } catch (error) {
    throw new Problem(error instanceof Error ? error.message : String(error));
  }
}
