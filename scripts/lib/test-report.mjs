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
 * @param {{ path: string, root: string, files?: string }} input `files` is what scripts/vitest-report.mjs wrote; a
 *   report that was never written is empty
 * @returns {TestReport}
 */
export function readTestReport({ path, root, files }) {
  const report = readJson(path);
  if (!report) return { tests: [], files: [] };
  if (report.stats) return fromPlaywright(report, root);
  return fromVitest(report, { root, files: (files && readJson(files)) || [] });
}

/** @param {string} path */
function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}

/**
 * @param {any} report
 * @param {{ root: string, files: (FileResult & { unrun: string[] })[] }} more
 * @returns {TestReport}
 */
function fromVitest(report, { root, files }) {
  /** @type {TestResult[]} */
  const tests = [];
  for (const { name: path, status, assertionResults } of report.testResults) {
    const file = relative(root, path);
    const unrun = files.find((known) => known.file === file)?.unrun ?? [];
    for (const { ancestorTitles, title, status: outcome } of assertionResults) {
      const name = [...ancestorTitles, title].join(" > ");
      tests.push({ file, name, outcome: unrun.includes(name) ? "failed" : outcomeOf(outcome), select: name });
    }
    // It could not be loaded, or cleaning up failed.
    const hasFailedTest = tests.some((test) => test.file === file && test.outcome === "failed");
    if (status === "failed" && !hasFailedTest) tests.push({ file, name: "", outcome: "failed", select: "" });
  }
  return { tests, files: files.map(({ file, milliseconds }) => ({ file, milliseconds })) };
}

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
      for (const { status, expectedStatus, results } of runs) {
        // Left out by nobody: what came before it failed.
        const isUnrun = status === "skipped" && expectedStatus !== "skipped";
        tests.push({
          file,
          name: [...groups, title].join(" > "),
          outcome: isUnrun ? "failed" : outcomeOf(status),
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
