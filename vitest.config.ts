import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Most of them wait for processes that start: on two cores, two at once take two thirds of the time.
const maxWorkers = Math.max(2, Math.ceil(availableParallelism() / 2));
const alias = { "@": fileURLToPath(new URL(".", import.meta.url)) };

export default defineConfig({
  test: {
    maxWorkers,
    projects: [
      {
        resolve: { alias },
        test: {
          name: "unit",
          globalSetup: ["scripts/vitest-postgres.ts"],
          include: ["{app,components,server,db,sidecar,scripts}/**/*.test.{ts,tsx}"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        resolve: { alias },
        test: {
          // Seeds of `npm run test:faults`: one server for all of them, one after another.
          name: "faults",
          globalSetup: ["scripts/vitest-postgres.ts"],
          include: ["faults/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        resolve: { alias },
        test: {
          // Whole processes: each file starts its own Dormouse, so they run one after another.
          name: "boot",
          include: ["e2e/boot/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
