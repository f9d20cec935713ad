import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTestReport } from "./test-report.mjs";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "dormouse-reports-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function read(report: unknown) {
  const path = join(root, "report.json");
  await writeFile(path, JSON.stringify(report));
  return readTestReport({ path, root });
}

const vitestTest = (title: string, status: string) => ({
  ancestorTitles: ["a group"],
  title,
  fullName: `a group ${title}`,
  status,
});

describe("a report of tests", () => {
  it("of Vitest names tests with their groups, and files with their durations", async () => {
    const assertionResults = [
      vitestTest("works", "passed"),
      vitestTest("fails", "failed"),
      vitestTest("no", "pending"),
    ];
    const file = { name: join(root, "server/a.test.ts"), status: "failed", startTime: 1_000, endTime: 3_500 };
    expect(await read({ testResults: [{ ...file, assertionResults }] })).toEqual({
      files: [{ file: "server/a.test.ts", milliseconds: 2_500 }],
      tests: [
        { file: "server/a.test.ts", name: "a group > works", outcome: "passed", select: "a group works" },
        { file: "server/a.test.ts", name: "a group > fails", outcome: "failed", select: "a group fails" },
        { file: "server/a.test.ts", name: "a group > no", outcome: "skipped", select: "a group no" },
      ],
    });
  });

  it("of Vitest tells a file that could not be set up from one with failed tests", async () => {
    const file = { name: join(root, "a.test.ts"), status: "failed", startTime: 0, endTime: 0 };
    const { tests } = await read({ testResults: [{ ...file, assertionResults: [vitestTest("works", "pending")] }] });
    expect(tests.map(({ name, outcome }) => [name, outcome])).toEqual([
      ["a group > works", "skipped"],
      ["", "failed"],
    ]);
  });

  it("of Playwright does the same, by file and line", async () => {
    const spec = (title: string, line: number, status: string) => ({
      title,
      file: "a.spec.ts",
      line,
      tests: [{ status, results: status === "skipped" ? [] : [{ duration: 700 }, { duration: 300 }] }],
    });
    const report = {
      config: { rootDir: join(root, "e2e/journeys") },
      stats: {},
      suites: [
        {
          title: "a.spec.ts",
          specs: [spec("works", 3, "expected")],
          suites: [{ title: "a group", specs: [spec("fails", 9, "unexpected"), spec("no", 12, "skipped")] }],
        },
      ],
      errors: [{ message: "could not load", location: { file: join(root, "e2e/journeys/b.spec.ts") } }],
    };
    const file = "e2e/journeys/a.spec.ts";
    expect(await read(report)).toEqual({
      files: [{ file, milliseconds: 2_000 }],
      tests: [
        { file, name: "works", outcome: "passed", select: `${file}:3` },
        { file, name: "a group > fails", outcome: "failed", select: `${file}:9` },
        { file, name: "a group > no", outcome: "skipped", select: `${file}:12` },
        { file: "e2e/journeys/b.spec.ts", name: "", outcome: "failed", select: "" },
      ],
    });
  });

  it("that was never written is empty", () => {
    expect(readTestReport({ path: join(root, "absent.json"), root })).toEqual({ tests: [], files: [] });
  });
});
