import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { createLogger } from "../lib/logger.ts";
import { loadModelCatalogue } from "../models/model-catalogue.ts";
import { buildCatalogue, cataloguePath } from "./build-catalogue.ts";

const projectRoot = resolve(import.meta.dirname, "../..");
const openai = { kind: "openai", baseUrl: "https://api.openai.com/v1" } as const;

// The real opencode, which may have to wait for its turn on a busy machine.
it("takes prices and limits from the installed opencode, once for each version", { timeout: 150_000 }, async () => {
  const root = await mkdtemp(join(tmpdir(), "dormouse-root-"));
  await symlink(join(projectRoot, "node_modules"), join(root, "node_modules"));
  await mkdir(join(root, "dist"));
  await writeFile(join(root, "package.json"), "{}");
  await writeFile(join(root, "dist", "sidecar.mjs"), "");
  const { signal } = new AbortController();
  const steps: string[] = [];
  const build = () =>
    buildCatalogue({
      root,
      signal,
      step: async (work) => {
        steps.push("read");
        await work();
      },
    });
  const path = cataloguePath(root);

  await build();
  const catalogue = await loadModelCatalogue(path, createLogger("silent"));
  expect(catalogue.find(openai, "gpt-4o")).toEqual({
    price: { input: 2.5, output: 10, cacheRead: 1.25, cacheWrite: null },
    longPromptPrices: [],
    maxContextTokens: 128_000,
    maxInputTokens: null,
    maxOutputTokens: 16_384,
    images: true,
    pdfs: true,
    reasoning: false,
  });
  const sonnet = catalogue.find({ kind: "anthropic", baseUrl: "" }, "claude-sonnet-4-5");
  expect(sonnet).toMatchObject({ price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }, reasoning: true });
  // What has no price there is not free.
  expect(catalogue.find(openai, "gpt-image-1")).toMatchObject({ price: { input: null }, maxContextTokens: null });
  const atOpenRouter = { kind: "openai-compatible", baseUrl: "https://openrouter.ai/api/v1" } as const;
  expect(catalogue.find(atOpenRouter, "anthropic/claude-sonnet-4.5")?.maxContextTokens).toBeGreaterThan(128_000);
  expect(catalogue.find(openai, "gpt-5.4")?.longPromptPrices).toMatchObject([{ aboveTokens: 272_000 }]);

  const { ino } = await stat(path);
  await build();
  expect((await stat(path)).ino).toBe(ino);
  expect(steps).toEqual(["read"]);

  // One of another version is made anew; a start that is given up leaves it as it was.
  const other = (await readFile(path, "utf8")).replace(/"edition":"[^"]+"/, '"edition":"0.0.1"');
  await writeFile(path, other);
  await expect(buildCatalogue({ root, signal: AbortSignal.abort() })).rejects.toThrow();
  expect(await readFile(path, "utf8")).toBe(other);
  await rm(root, { recursive: true, force: true });
});
