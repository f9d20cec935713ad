import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runVisibly } from "./run-visibly.mjs";
import { mergeRuns, playwrightSelection, vitestSelections, wantedAgain } from "./second-run.mjs";
import { readTestReport } from "./test-report.mjs";

const reportOfFiles = fileURLToPath(new URL("../vitest-report.mjs", import.meta.url));

/**
 * Runs Vitest and Playwright, what failed once more, and keeps what came of all of it.
 *
 * @typedef {import("./test-report.mjs").TestResult} TestResult
 * @typedef {import("./test-report.mjs").FileResult} FileResult
 *
 * @typedef {object} RunOptions
 * @property {string} name
 * @property {string[]} words for the program
 * @property {number} timeoutMilliseconds
 */

/**
 * @param {{
 *   root: string, steps: import("./steps.mjs").Steps, environment: Record<string, string | undefined>,
 *   output?: "inherit" | "ignore",
 * }} options
 */
export function createTestRunner({ root, steps, environment, output = "inherit" }) {
  const reports = mkdtempSync(join(tmpdir(), "dormouse-reports-"));
  /** @type {{ tests: TestResult[], flaky: TestResult[], files: FileResult[] }} */
  const all = { tests: [], flaky: [], files: [] };
  let runs = 0;

  /**
   * @param {{ name: string, command: "vitest" | "playwright", parameters: string[], timeoutMilliseconds: number }} run
   */
  async function runOnce({ name, command, parameters, timeoutMilliseconds }) {
    runs += 1;
    const path = join(reports, `${runs}.json`);
    const files = join(reports, `${runs}.files.json`);
    const reporters = ["--reporter=json", `--outputFile.json=${path}`, `--reporter=${reportOfFiles}`];
    const ok = await runVisibly({
      doing: `Testing: ${name}`,
      done: `Tested: ${name}`,
      steps,
      command,
      parameters: [...parameters, ...(command === "vitest" ? reporters : [])],
      cwd: root,
      environment: { ...environment, PLAYWRIGHT_JSON_OUTPUT_FILE: path, VITEST_FILES_REPORT: files },
      timeoutMilliseconds,
      output,
    });
    return { ok, report: readTestReport({ path, root, files }) };
  }

  /**
   * @param {RunOptions & { command: "vitest" | "playwright", base: string[], again: (tests: TestResult[]) => string[][] }} run
   * @returns {Promise<boolean>} whether every test passed, if only the second time
   */
  async function run({ name, command, base, words, timeoutMilliseconds, again }) {
    const first = await runOnce({ name, command, parameters: [...base, ...words], timeoutMilliseconds });
    const wanted = wantedAgain(first);
    const selections = wanted.length > 0 ? again(wanted) : [];
    const second = { ok: true, report: { tests: /** @type {TestResult[]} */ ([]), files: [] } };
    for (const selection of selections) {
      const parameters = [...base, ...selection];
      const once = await runOnce({ name: `${name}, once more`, command, parameters, timeoutMilliseconds });
      // A run that could not say what failed has failed.
      second.ok &&= once.ok || once.report.tests.some(({ outcome }) => outcome === "failed");
      second.report.tests.push(...once.report.tests);
    }
    const merged = mergeRuns(selections.length > 0 ? { first, second } : { first });
    all.tests.push(...merged.tests);
    all.flaky.push(...merged.flaky);
    all.files.push(...first.report.files);
    return merged.tests.every(({ outcome }) => outcome !== "failed");
  }

  return {
    all,
    /** @param {RunOptions & { projects: string[] }} options */
    vitest: ({ projects, ...options }) =>
      run({
        ...options,
        command: "vitest",
        base: ["run", "--reporter=default", ...projects.flatMap((project) => ["--project", project])],
        again: vitestSelections,
      }),
    /** @param {RunOptions} options */
    playwright: (options) =>
      run({
        ...options,
        command: "playwright",
        base: ["test", "-c", "e2e/playwright.config.ts", "--reporter=list,json"],
        // Into a folder of its own: what the first run left says why it failed.
        again: (tests) => [["--workers=1", "--output=test-results/once-more", ...playwrightSelection(tests)]],
      }),
    close: () => rmSync(reports, { recursive: true, force: true }),
  };
}
