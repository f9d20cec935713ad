import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestRunner } from "./run-tests.mjs";
import { createSteps } from "./steps.mjs";
import { outcomeLines } from "./test-summary.mjs";

const modules = resolve(import.meta.dirname, "../../node_modules");

/** True from the second call on, in whatever process. */
const again = (name: string) => `(existsSync("${name}.mark") || (writeFileSync("${name}.mark", ""), false))`;
const files = {
  "vitest.config.mjs": 'export default { test: { projects: [{ test: { name: "all", include: ["*.test.mjs"] } }] } };',
  "noise.test.mjs": `
    import { existsSync, writeFileSync } from "node:fs";
    import { describe, expect, it } from "vitest";
    describe("a group (with signs?)", () => {
      it("stumbles [once] | or so", () => expect(${again("noise")}).toBe(true));
      it("works", () => {});
      it.skip("is left out", () => {});
    });`,
  "set-up.test.mjs": `
    import { existsSync, writeFileSync } from "node:fs";
    import { beforeAll, describe, it } from "vitest";
    it("is there at once", () => {});
    it.skip("is left out", () => {});
    describe("a group", () => {
      beforeAll(() => { if (!${again("set-up")}) throw new Error("not yet"); });
      it("works", () => {});
    });`,
  "load.test.mjs": `
    import { existsSync, writeFileSync } from "node:fs";
    import { it } from "vitest";
    if (!${again("load")}) throw new Error("not yet");
    it("works", () => {});`,
  "broken.test.mjs": 'import { expect, it } from "vitest"; it("breaks", () => expect(1).toBe(2));',
};

describe("running tests", () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "dormouse-run-tests-"));
    await symlink(modules, join(root, "node_modules"));
    for (const [name, content] of Object.entries(files)) await writeFile(join(root, name), content);
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it("runs what failed once more by itself, and tells noise from failure", async () => {
    const { NODE_ENV: _, VITEST: _vitest, ...inherited } = process.env;
    const path = [dirname(process.execPath), join(modules, ".bin"), process.env.PATH].join(delimiter);
    const runner = createTestRunner({
      root,
      steps: createSteps({ write: () => {} }),
      environment: { ...inherited, PATH: path },
      output: "ignore",
    });
    const run = (words: string[]) =>
      runner.vitest({ name: "fixture", projects: ["all"], words, timeoutMilliseconds: 60_000 });
    expect(await run(["noise", "set-up", "load"])).toBe(true);
    expect(await run(["broken"])).toBe(false);
    runner.close();
    expect(outcomeLines(runner.all)).toEqual([
      "skipped: noise.test.mjs > a group (with signs?) > is left out",
      "skipped: set-up.test.mjs > is left out",
      "flaky: load.test.mjs > the file itself",
      "flaky: noise.test.mjs > a group (with signs?) > stumbles [once] | or so",
      "flaky: set-up.test.mjs > a group > works",
      "failed: broken.test.mjs > breaks",
      "5 passed, 1 failed, 2 skipped",
    ]);
    expect(runner.all.files.map(({ file }) => file).sort()).toEqual([
      "broken.test.mjs",
      "load.test.mjs",
      "noise.test.mjs",
      "set-up.test.mjs",
    ]);
  }, 60_000);
});
