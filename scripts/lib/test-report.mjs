import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";

/**
 * What one run of Vitest or Playwright came to, in one shape for both.
 *
 * @typedef {object} TestResult
 * @property {string} file from the root of the clone
 * @property {string} name of the test with those of its groups; empty when the file itself failed
 * @property {"passed" | "failed" | "skipped"} outcome
 * @property {string} select how the program that ran it picks it out again
 *
 * @typedef {object} FileResult
 * @property {string} file
 * @property {number} milliseconds
 *
 * @typedef {object} TestReport
 * @property {TestResult[]} tests
 * @property {FileResult[]} files
 */

/**
 * @param {{ path: string, root: string }} input a report that was never written is empty
 * @returns {TestReport}
 */
export function readTestReport({ path, root }) {
  let report;
  try {
    report = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { tests: [], files: [] };
  }
  return report.stats ? fromPlaywright(report, root) : fromVitest(report, root);
}

/**
 * @param {any} report
 * @param {string} root
 * @returns {TestReport}
 */
function fromVitest(report, root) {
  const tests = [];
  const files = [];
  for (const { name: path, status, startTime, endTime, assertionResults } of report.testResults) {
    const file = relative(root, path);
    files.push({ file, milliseconds: Math.max(0, endTime - startTime) });
    for (const { ancestorTitles, title, fullName, status: outcome } of assertionResults) {
      const name = [...ancestorTitles, title].join(" > ");
      tests.push({ file, name, outcome: outcomeOf(outcome), select: fullName });
    }
    // Its set-up failed, or it could not even be loaded.
    const hasFailedTest = assertionResults.some((/** @type {any} */ test) => test.status === "failed");
    if (status === "failed" && !hasFailedTest) tests.push({ file, name: "", outcome: failed, select: "" });
  }
  return { tests, files };
}

const failed = /** @type {const} */ ("failed");

/**
 * @param {any} report
 * @param {string} root
 * @returns {TestReport}
 */
function fromPlaywright(report, root) {
  /** @type {TestResult[]} */
  const tests = [];
  /** @type {Map<string, number>} */
  const milliseconds = new Map();
  const locate = (/** @type {string} */ file) => relative(root, resolve(report.config.rootDir, file));
  const walk = (/** @type {any} */ suite, /** @type {string[]} */ groups) => {
    for (const { title, file: path, line, tests: runs } of suite.specs ?? []) {
      const file = locate(path);
      for (const { status, results } of runs) {
        tests.push({
          file,
          name: [...groups, title].join(" > "),
          outcome: outcomeOf(status),
          select: `${file}:${line}`,
        });
        for (const { duration } of results) milliseconds.set(file, (milliseconds.get(file) ?? 0) + duration);
      }
    }
    // The outermost suites are the files.
    for (const inner of suite.suites ?? []) walk(inner, [...groups, inner.title]);
  };
  for (const suite of report.suites) walk(suite, []);
  // What kept a file from being loaded stands beside the suites.
  for (const { location } of report.errors ?? []) {
    const file = location ? relative(root, location.file) : "playwright";
    tests.push({ file, name: "", outcome: "failed", select: "" });
  }
  return { tests, files: [...milliseconds].map(([file, spent]) => ({ file, milliseconds: spent })) };
}

/**
 * @param {string} status
 * @returns {TestResult["outcome"]}
 */
function outcomeOf(status) {
  if (status === "passed" || status === "expected" || status === "flaky") return "passed";
  return status === "failed" || status === "unexpected" ? "failed" : "skipped";
}
