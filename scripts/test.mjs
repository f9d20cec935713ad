import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { bootstrap } from "./lib/bootstrap.mjs";
import { bringBubblewrap } from "./lib/bring-bubblewrap.mjs";
import { bringChromium } from "./lib/bring-chromium.mjs";
import { Problem, runProgram } from "./lib/problem.mjs";
import { runVisibly } from "./lib/run-visibly.mjs";
import { countTests } from "./lib/test-counts.mjs";

/**
 * `npm test`: everything, on a fresh clone too. `--unit` and `--e2e` run a part, and pass further words on
 * to Vitest or Playwright. Stops at the first step that fails; the last line counts the tests.
 */
const minute = 60_000;
const total = { passed: 0, failed: 0 };

await runProgram(async () => {
  const [part, ...words] = process.argv.slice(2);
  if (part && part !== "--unit" && part !== "--e2e") throw new Problem(`No such part of the tests: ${part}`);
  const { root, steps, node } = await bootstrap();
  const reports = mkdtempSync(join(tmpdir(), "dormouse-reports-"));
  // Vitest and Next choose their own.
  const { NODE_ENV: _, ...inherited } = process.env;
  const environment = { ...inherited, PATH: searchPath(root, node) };

  /** @type {(doing: string, done: string, command: string, parameters: string[], limit: number) => Promise<boolean>} */
  const run = (doing, done, command, parameters, timeoutMilliseconds) =>
    runVisibly({ doing, done, steps, command, parameters, cwd: root, environment, timeoutMilliseconds });
  const check = async () => {
    for (const line of checksOf(root)) {
      const [command = "", ...parameters] = line.split(" ");
      const ok = await run(`Checking: ${line}`, `Checked: ${line}`, command, parameters, 5 * minute);
      if (!ok) return count({ file: "", ok });
    }
    return true;
  };
  const vitest = async (/** @type {string} */ project) => {
    const file = join(reports, `${project}.json`);
    const parameters = [
      "run",
      "--project",
      project,
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${file}`,
    ];
    const own = part === "--unit" ? words : [];
    const ok = await run(`Testing: ${project}`, `Tested: ${project}`, "vitest", [...parameters, ...own], 25 * minute);
    return count({ file, ok });
  };
  const build = async () => {
    const ok = await run("Preparing the pages", "Prepared the pages", "node", ["server/boot/build.ts"], 11 * minute);
    return ok || count({ file: "", ok });
  };
  const playwright = async () => {
    const file = join(reports, "playwright.json");
    Object.assign(environment, { PLAYWRIGHT_JSON_OUTPUT_FILE: file });
    const parameters = ["test", "-c", "e2e/playwright.config.ts", "--reporter=list,json", ...words];
    return count({ file, ok: await run("Testing: browser", "Tested: browser", "playwright", parameters, 30 * minute) });
  };

  try {
    await bringBubblewrap({ root, steps });
    if (part !== "--unit") Object.assign(environment, { DORMOUSE_TEST_CHROMIUM: await bringChromium({ root, steps }) });
    const unit = () => vitest("unit");
    const boot = () => vitest("boot");
    // Ten seeds; `npm run test:faults` runs a hundred.
    const faults = () => vitest("faults");
    const ends = [build, boot, playwright];
    const wanted = part === "--unit" ? [unit] : part === "--e2e" ? ends : [check, unit, faults, ...ends];
    for (const step of wanted) if (!(await step())) return 1;
    return 0;
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
});
// What kept the tests from running at all must not read like success.
if (process.exitCode !== 0 && total.failed === 0) total.failed = 1;
console.log(`${total.passed} passed, ${total.failed} failed`);

/**
 * @param {{ file: string, ok: boolean }} run
 * @returns {boolean} whether to go on
 */
function count(run) {
  const { passed, failed } = countTests(run);
  total.passed += passed;
  total.failed += failed;
  return run.ok;
}

/** @param {string} root */
function checksOf(root) {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return /** @type {string} */ (scripts.check).split(" && ");
}

/**
 * @param {string} root
 * @param {string} node
 */
function searchPath(root, node) {
  return [dirname(node), join(root, "node_modules", ".bin"), process.env.PATH].filter(Boolean).join(delimiter);
}
