import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countTests } from "./test-counts.mjs";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "dormouse-counts-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function count(report: unknown, ok: boolean) {
  const file = join(directory, "report.json");
  await writeFile(file, JSON.stringify(report));
  return countTests({ file, ok });
}

describe("counting tests", () => {
  it("adds up what Vitest and Playwright report", async () => {
    expect(await count({ numPassedTests: 7, numFailedTests: 2 }, false)).toEqual({ passed: 7, failed: 2 });
    const stats = { expected: 3, unexpected: 1, flaky: 1, skipped: 4 };
    expect(await count({ stats }, false)).toEqual({ passed: 4, failed: 1 });
  });

  it("never calls a failed run one without failures", async () => {
    expect(await count({ numPassedTests: 7, numFailedTests: 0 }, false)).toEqual({ passed: 7, failed: 1 });
    expect(countTests({ file: join(directory, "absent.json"), ok: false })).toEqual({ passed: 0, failed: 1 });
  });
});
