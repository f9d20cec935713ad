import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { bootstrap } from "./lib/bootstrap.mjs";
import { bringBubblewrap } from "./lib/bring-bubblewrap.mjs";
import { runProgram } from "./lib/problem.mjs";
import { runVisibly } from "./lib/run-visibly.mjs";
import { countTests } from "./lib/test-counts.mjs";

/** `npm run test:faults`: SEEDS=n runs the seeds 1 to n (100 when not given), SEED=k that one alone. */
let counts = { passed: 0, failed: 1 };
await runProgram(async () => {
  const { root, steps, node } = await bootstrap();
  const reports = mkdtempSync(join(tmpdir(), "dormouse-reports-"));
  const file = join(reports, "faults.json");
  const { NODE_ENV: _, ...inherited } = process.env;
  const path = [dirname(node), join(root, "node_modules", ".bin"), process.env.PATH].filter(Boolean).join(delimiter);
  const seeds = Number(process.env.SEEDS ?? "100");
  try {
    await bringBubblewrap({ root, steps });
    const ok = await runVisibly({
      doing: "Testing: faults",
      done: "Tested: faults",
      steps,
      command: "vitest",
      parameters: ["run", "--project", "faults", "--reporter=verbose", "--reporter=json", `--outputFile.json=${file}`],
      cwd: root,
      environment: { ...inherited, SEEDS: String(seeds), PATH: path },
      // A turn that hangs fails its own seed after 3 minutes.
      timeoutMilliseconds: (5 + seeds) * 60_000,
    });
    counts = countTests({ file, ok });
    return ok ? 0 : 1;
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
});
console.log(`${counts.passed} passed, ${counts.failed} failed`);
