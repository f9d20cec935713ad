import { readFileSync } from "node:fs";

/**
 * What a run of tests came to, by the report it wrote; a run that failed without a failed test (it could
 * not even load, or left no report) counts as one failure.
 *
 * @param {{ file: string, ok: boolean }} run
 * @returns {{ passed: number, failed: number }}
 */
export function countTests({ file, ok }) {
  const { passed, failed } = readCounts(file);
  return { passed, failed: ok ? failed : Math.max(failed, 1) };
}

/** @param {string} file */
function readCounts(file) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return { passed: 0, failed: 0 };
  }
  // Playwright's report, else Vitest's.
  if (report.stats) return { passed: report.stats.expected + report.stats.flaky, failed: report.stats.unexpected };
  return { passed: report.numPassedTests, failed: report.numFailedTests };
}
