import { describe, expect, it } from "vitest";
import type { TestResult } from "./test-report.mjs";
import { durationLines, outcomeLines } from "./test-summary.mjs";

const test = (name: string, outcome: TestResult["outcome"]): TestResult => ({
  file: "a.test.ts",
  name,
  outcome,
  select: "",
});

describe("the end of a run", () => {
  it("names what was skipped, what was flaky and what failed, and counts last", () => {
    const flaky = test("stumbles", "passed");
    const tests = [test("works", "passed"), flaky, test("left out", "skipped"), test("breaks", "failed")];
    expect(outcomeLines({ tests: [...tests, test("", "failed")], flaky: [flaky] })).toEqual([
      "skipped: a.test.ts > left out",
      "flaky: a.test.ts > stumbles",
      "failed: a.test.ts > breaks",
      "failed: a.test.ts > the file itself",
      "2 passed, 2 failed, 1 skipped",
    ]);
    expect(outcomeLines({ tests: [test("works", "passed")], flaky: [] })).toEqual(["1 passed, 0 failed"]);
  });

  it("has the duration of each file, the slowest ten last", () => {
    const files = Array.from({ length: 12 }, (_, index) => ({ file: `${index}.test.ts`, milliseconds: index * 100 }));
    const lines = durationLines(files.toReversed());
    expect(lines.slice(0, 4)).toEqual([
      "Durations:",
      "    0.0 s  0.test.ts",
      "    0.1 s  1.test.ts",
      "The slowest 10 files:",
    ]);
    expect(lines.at(-1)).toBe("    1.1 s  11.test.ts");
    expect(durationLines([])).toEqual([]);
  });
});
