import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { sortTests } from "./scripts/lib/test-tiers.mjs";

// Most of them wait, for processes that start and for each other: with as many as cores, these would stand still.
const maxWorkers = Math.max(4, Math.ceil(availableParallelism() / 2));
const root = fileURLToPath(new URL(".", import.meta.url));
const alias = { "@": root };
const globalSetup = ["scripts/vitest-postgres.ts"];
const { fast, integration } = sortTests(root);

/** The faults take longest and are the shortest files: begun last, they would run with nothing beside them. */
class FaultsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFault = ({ moduleId }: TestSpecification) => moduleId.startsWith(`${root}faults/`);
    return [...sorted.filter(isFault), ...sorted.filter((file) => !isFault(file))];
  }
}

export default defineConfig({
  test: {
    maxWorkers,
    sequence: { sequencer: FaultsFirst },
    projects: [
      {
        resolve: { alias },
        // Nothing in them replaces a module, and importing all of them anew for each file took as long as the tests.
        test: { name: "fast", globalSetup, include: fast, isolate: false, testTimeout: 30_000, hookTimeout: 60_000 },
      },
      {
        resolve: { alias },
        test: { name: "integration", globalSetup, include: integration, testTimeout: 120_000, hookTimeout: 120_000 },
      },
    ],
  },
});
