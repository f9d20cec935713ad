/**
 * The end of a run of tests in words: durations, then whatever deserves a look, then the count.
 *
 * @typedef {import("./test-report.mjs").TestResult} TestResult
 * @typedef {import("./test-report.mjs").FileResult} FileResult
 */

const slowest = 10;

/**
 * @param {FileResult[]} files
 * @returns {string[]}
 */
export function durationLines(files) {
  const sorted = files.toSorted((a, b) => a.milliseconds - b.milliseconds || a.file.localeCompare(b.file));
  if (sorted.length === 0) return [];
  const lines = sorted.map(({ file, milliseconds }) => `${(milliseconds / 1000).toFixed(1).padStart(7)} s  ${file}`);
  if (lines.length <= slowest) return ["Durations:", ...lines];
  return ["Durations:", ...lines.slice(0, -slowest), `The slowest ${slowest} files:`, ...lines.slice(-slowest)];
}

/**
 * @param {{ tests: TestResult[], flaky: TestResult[] }} input
 * @returns {string[]} the last of them is the count
 */
export function outcomeLines({ tests, flaky }) {
  const having = (/** @type {TestResult["outcome"]} */ outcome) => tests.filter((test) => test.outcome === outcome);
  const [passed, failed, skipped] = [having("passed"), having("failed"), having("skipped")];
  const named = (/** @type {string} */ word, /** @type {TestResult[]} */ list) =>
    list.map(({ file, name }) => `${word}: ${file} > ${name || "the file itself"}`).sort();
  return [
    ...named("skipped", skipped),
    ...named("flaky", flaky),
    ...named("failed", failed),
    `${passed.length} passed, ${failed.length} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`,
  ];
}
