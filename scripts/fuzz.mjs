import { delimiter, dirname, join } from "node:path";
import { bootstrap } from "./lib/bootstrap.mjs";
import { launch } from "./lib/launch.mjs";
import { runProgram } from "./lib/problem.mjs";

/**
 * `npm run test:fuzz`: the long form of what every test run does briefly. COUNT (2,000) says how many hostile
 * archives and how many mutated requests, SEEDS (one made up, and printed) from which; a failure names its
 * seed, which finds it again. Then 100,000 files, and 2 GB in flat memory.
 */
await runProgram(async () => {
  const { node, root } = await bootstrap();
  const { COUNT = "2000", SEEDS = String(Date.now() % 1_000_000), PATH = "" } = process.env;
  console.log(`COUNT=${COUNT} SEEDS=${SEEDS}`);
  const { ARCHIVE_TEST_FILES = "100000", ARCHIVE_TEST_MB = "2048" } = process.env;
  const environment = {
    COUNT,
    SEEDS,
    ARCHIVE_TEST_FILES,
    ARCHIVE_TEST_MB,
    PATH: [dirname(node), PATH].join(delimiter),
  };
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const files = ["sidecar/fuzz.test.ts", "sidecar/archive/archive.test.ts", "sidecar/archive/memory-use.test.ts"];
  // One after another: memory is measured.
  const parameters = [vitest, "run", "--no-file-parallelism", ...files, ...process.argv.slice(2)];
  return launch({ node, root, parameters, environment });
});
