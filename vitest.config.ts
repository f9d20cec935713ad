import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { sortTests } from "./scripts/lib/test-tiers.mjs";

// Most of them wait for processes that start: on two cores, two at once take two thirds of the time.
const maxWorkers = Math.max(2, Math.ceil(availableParallelism() / 2));
const root = fileURLToPath(new URL(".", import.meta.url));
const alias = { "@": root };
const globalSetup = ["scripts/vitest-postgres.ts"];
const { fast, integration } = sortTests(root);

export default defineConfig({
  test: {
    maxWorkers,
    projects: [
      {
        resolve: { alias },
        test: { name: "fast", globalSetup, include: fast, testTimeout: 30_000, hookTimeout: 60_000 },
      },
      {
        resolve: { alias },
        test: { name: "integration", globalSetup, include: integration, testTimeout: 120_000, hookTimeout: 120_000 },
      },
    ],
  },
});
