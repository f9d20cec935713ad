import { describe, expect, it } from "vitest";
import { maxSecondRuns, mergeRuns, playwrightSelection, vitestSelections, wantedAgain } from "./second-run.mjs";
import type { TestResult } from "./test-report.mjs";

const test = (file: string, name: string, outcome: TestResult["outcome"], select = name): TestResult => ({
  file,
  name,
  outcome,
  select,
});
const run = (ok: boolean, ...tests: TestResult[]) => ({ ok, report: { tests, files: [] } });

describe("a test that failed", () => {
  const first = run(false, test("a.ts", "works", "passed"), test("a.ts", "stumbles", "failed"));

  it("counts as passed and is named as flaky when it passes by itself", () => {
    expect(wantedAgain(first).map(({ name }) => name)).toEqual(["stumbles"]);
    const second = run(true, test("a.ts", "works", "skipped"), test("a.ts", "stumbles", "passed"));
    const { tests, flaky } = mergeRuns({ first, second });
    expect(tests).toEqual([test("a.ts", "works", "passed"), test("a.ts", "stumbles", "passed")]);
    expect(flaky.map(({ file, name }) => `${file} > ${name}`)).toEqual(["a.ts > stumbles"]);
  });

  it("has failed when it fails twice, or was not found again", () => {
    for (const second of [run(false, test("a.ts", "stumbles", "failed")), run(true)]) {
      const { tests, flaky } = mergeRuns({ first, second });
      expect(tests.filter(({ outcome }) => outcome === "failed").map(({ name }) => name)).toEqual(["stumbles"]);
      expect(flaky).toEqual([]);
    }
  });

  it("is not run again among too many", () => {
    const many = Array.from({ length: maxSecondRuns + 1 }, (_, index) => test("a.ts", `${index}`, "failed"));
    expect(wantedAgain(run(false, ...many))).toEqual([]);
  });
});

describe("a file that could not be loaded", () => {
  const first = run(false, test("a.ts", "", "failed"), test("a.ts", "works", "skipped"));

  it("counts by its second run", () => {
    const { tests, flaky } = mergeRuns({ first, second: run(true, test("a.ts", "works", "passed")) });
    expect(tests).toEqual([test("a.ts", "works", "passed")]);
    expect(flaky.map(({ file }) => file)).toEqual(["a.ts"]);
  });

  it("is a failure when it fails again", () => {
    const { tests, flaky } = mergeRuns({ first, second: first });
    expect(tests.map(({ outcome }) => outcome)).toEqual(["failed", "skipped"]);
    expect(flaky).toEqual([]);
  });
});

describe("a run that fails without a failed test", () => {
  it("is a failure, the second one too", () => {
    const outcomes = (input: Parameters<typeof mergeRuns>[0]) => mergeRuns(input).tests.map(({ outcome }) => outcome);
    expect(outcomes({ first: run(false, test("a.ts", "works", "passed")) })).toEqual(["passed", "failed"]);
    const first = run(false, test("a.ts", "stumbles", "failed"));
    expect(outcomes({ first, second: run(false, test("a.ts", "stumbles", "passed")) })).toEqual(["passed", "failed"]);
  });
});

describe("what is run again is picked out", () => {
  it("for Vitest with all of its file, once, since tests may build on those before them", () => {
    const failed = [test("a.ts", "x", "failed"), test("a.ts", "y", "failed"), test("b.ts", "", "failed")];
    expect(vitestSelections(failed)).toEqual([["a.ts"], ["b.ts"]]);
  });

  it("for Playwright by file and line, each once", () => {
    const failed = [test("a.ts", "x", "failed", "a.ts:7"), test("a.ts", "x", "failed", "a.ts:7")];
    expect(playwrightSelection([...failed, test("b.ts", "", "failed", "")])).toEqual(["a.ts:7", "b.ts"]);
  });
});
