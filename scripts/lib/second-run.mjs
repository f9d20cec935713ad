/**
 * A test that fails is run once more by itself: passing then, it counts as passed and is named as flaky, so that
 * noise neither stops a merge nor hides. What fails twice has failed.
 *
 * @typedef {import("./test-report.mjs").TestReport} TestReport
 * @typedef {import("./test-report.mjs").TestResult} TestResult
 *
 * @typedef {object} TestRun
 * @property {boolean} ok what the program said at its end
 * @property {TestReport} report
 */

/** More than this is no noise, and running them all again would only take its time. */
export const maxSecondRuns = 20;

/**
 * @param {TestRun} first
 * @returns {TestResult[]} what is to be run again; empty when nothing failed or too much did
 */
export function wantedAgain({ report }) {
  const failed = report.tests.filter(({ outcome }) => outcome === "failed");
  return failed.length > maxSecondRuns ? [] : failed;
}

/**
 * @param {{ first: TestRun, second?: TestRun }} runs
 * @returns {{ tests: TestResult[], flaky: TestResult[] }}
 */
export function mergeRuns({ first, second }) {
  const before = first.report.tests;
  // A run that failed for no reason that it could name, as an error outside of any test.
  const unnamed = { file: "the run itself", name: "see above", outcome: /** @type {const} */ ("failed"), select: "" };
  const isUnnamed = (/** @type {TestRun} */ run) =>
    !run.ok && run.report.tests.every(({ outcome }) => outcome !== "failed");
  if (isUnnamed(first)) return { tests: [...before, unnamed], flaky: [] };
  if (!second) return { tests: before, flaky: [] };

  const again = second.report.tests;
  const after = new Map(again.map((test) => [keyOf(test), test.outcome]));
  const ofFile = (/** @type {string} */ file) => again.filter((test) => test.file === file);
  const isMended = (/** @type {TestResult} */ test) =>
    isBroken(test)
      ? ofFile(test.file).length > 0 && !ofFile(test.file).some(isBroken)
      : test.outcome === "failed" && after.get(keyOf(test)) === "passed";
  const flaky = before.filter(isMended);
  // Of a file that could be loaded the second time only, the second run alone says anything.
  const replaced = new Set(flaky.filter(isBroken).map(({ file }) => file));
  const tests = before.flatMap((test) => {
    if (replaced.has(test.file)) return isBroken(test) ? ofFile(test.file) : [];
    return flaky.includes(test) ? [{ ...test, outcome: /** @type {const} */ ("passed") }] : [test];
  });
  return { tests: isUnnamed(second) ? [...tests, unnamed] : tests, flaky };
}

/** @param {TestResult} test */
function isBroken({ name, outcome }) {
  return name === "" && outcome === "failed";
}

/** @param {TestResult} test */
function keyOf({ file, name }) {
  return `${file}\n${name}`;
}

/**
 * Whole files: tests of one may build on those before them.
 *
 * @param {TestResult[]} tests
 * @returns {string[][]} words for Vitest, one run for each file
 */
export function vitestSelections(tests) {
  return [...new Set(tests.map(({ file }) => file))].map((file) => [file]);
}

/**
 * @param {TestResult[]} tests
 * @returns {string[]} words for Playwright
 */
export function playwrightSelection(tests) {
  return [...new Set(tests.map(({ file, select }) => select || file))];
}
