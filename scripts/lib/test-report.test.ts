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

async function read(report: unknown, more: unknown = []) {
  const [path, files] = [join(root, "report.json"), join(root, "files.json")];
  await writeFile(path, JSON.stringify(report));
  await writeFile(files, JSON.stringify(more));
  return readTestReport({ path, root, files });
}

const vitestTest = (title: string, status: string) => ({
  ancestorTitles: ["a group"],
  title,
  status,
});

describe("a report of tests", () => {
  it("of Vitest names tests with their groups, and files with their durations", async () => {
    const assertionResults = [
      vitestTest("works", "passed"),
      vitestTest("fails", "failed"),
      vitestTest("no", "pending"),
    ];
    const file = { name: join(root, "server/a.test.ts"), status: "failed" };
    const known = { file: "server/a.test.ts", milliseconds: 2_500 };
    expect(await read({ testResults: [{ ...file, assertionResults }] }, [{ ...known, unrun: [] }])).toEqual({
      files: [known],
      tests: [
        { file: "server/a.test.ts", name: "a group > works", outcome: "passed", select: "a group > works" },
        { file: "server/a.test.ts", name: "a group > fails", outcome: "failed", select: "a group > fails" },
        { file: "server/a.test.ts", name: "a group > no", outcome: "skipped", select: "a group > no" },
      ],
    });
  });

  it("of Vitest tells a file that could not be loaded, and tests that were not set up, from skipped ones", async () => {
    const file = { name: join(root, "a.test.ts"), status: "failed" };
    const report = { testResults: [{ ...file, assertionResults: [vitestTest("works", "skipped")] }] };
    const outcomes = async (unrun: string[]) =>
      (await read(report, [{ file: "a.test.ts", milliseconds: 1, unrun }])).tests.map(({ name, outcome }) => [
        name,
        outcome,
      ]);
    expect(await outcomes([])).toEqual([
      ["a group > works", "skipped"],
      ["", "failed"],
    ]);
    expect(await outcomes(["a group > works"])).toEqual([["a group > works", "failed"]]);
  });

  it("of Playwright does the same, by file and line", async () => {
    const spec = (title: string, line: number, status: string, expectedStatus = "passed") => ({
      title,
      file: "a.spec.ts",
      line,
      tests: [{ status, expectedStatus, results: status === "skipped" ? [] : [{ duration: 700 }, { duration: 300 }] }],
    });
    const report = {
      config: { rootDir: join(root, "e2e/journeys") },
      stats: {},
      suites: [
        {
          title: "a.spec.ts",
          specs: [spec("works", 3, "expected")],
          suites: [
            {
              title: "a group",
              specs: [
                spec("fails", 9, "unexpected"),
                spec("after it", 10, "skipped"),
                spec("no", 12, "skipped", "skipped"),
              ],
            },
          ],
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
        { file, name: "a group > after it", outcome: "failed", select: `${file}:10` },
        { file, name: "a group > no", outcome: "skipped", select: `${file}:12` },
        { file: "e2e/journeys/b.spec.ts", name: "", outcome: "failed", select: "" },
      ],
    });
  });

  it("that was never written is empty", () => {
    expect(readTestReport({ path: join(root, "absent.json"), root })).toEqual({ tests: [], files: [] });
  });
});
