import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sortTests, starters } from "./test-tiers.mjs";

const clone = resolve(import.meta.dirname, "../..");

describe("the tiers of tests", () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "dormouse-tiers-"));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it("follow from what a test imports, however far away", async () => {
    const files = {
      "sidecar/test-sidecar.ts": "",
      "sidecar/helper.ts": 'export { boot } from "./test-sidecar.ts";\nimport "./far.test.ts";',
      "sidecar/far.test.ts": 'import { boot } from "./helper.ts";',
      "sidecar/near.test.ts": 'import { boot } from "./test-sidecar.ts";',
      "sidecar/types.test.ts": 'import type { Boot } from "./test-sidecar.ts";',
      "sidecar/plain.test.ts": 'import { it } from "vitest";',
    };
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(root, dirname(path)), { recursive: true });
      await writeFile(join(root, path), content);
    }
    expect(sortTests(root)).toEqual({
      fast: ["sidecar/plain.test.ts", "sidecar/types.test.ts"],
      integration: ["sidecar/far.test.ts", "sidecar/near.test.ts"],
    });
  });

  it("know where programs are started", () => {
    expect(starters.filter((file) => !existsSync(join(clone, file)))).toEqual([]);
  });
});
