import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

const chromium =
  process.env.DORMOUSE_TEST_CHROMIUM ?? (existsSync("/usr/bin/chromium") ? "/usr/bin/chromium" : undefined);

/** One Dormouse for all journeys, started by the global set-up; the first run comes first, since it happens once. */
export default defineConfig({
  testDir: "journeys",
  outputDir: "../test-results/journeys",
  globalSetup: "./fixtures/global-setup.ts",
  workers: 1,
  fullyParallel: false,
  forbidOnly: Boolean(process.env.CI),
  retries: 0,
  timeout: 120_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: {
    // Known once the global set-up has run; workers start after it.
    baseURL: process.env.E2E_URL,
    browserName: "chromium",
    viewport: { width: 1440, height: 900 },
    locale: "en-GB",
    reducedMotion: "reduce",
    actionTimeout: 20_000,
    navigationTimeout: 30_000,
    screenshot: "only-on-failure",
    // Pictures of a page that streams cost more than the journey itself.
    trace: { mode: "retain-on-failure", screenshots: false },
    video: "off",
    launchOptions: {
      ...(chromium && { executablePath: chromium }),
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    },
  },
  projects: [
    { name: "first-run", testMatch: "first-run.spec.ts" },
    { name: "journeys", testIgnore: "first-run.spec.ts", dependencies: ["first-run"] },
  ],
});
