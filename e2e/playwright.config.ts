import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

const chromium =
  process.env.DORMOUSE_TEST_CHROMIUM ?? (existsSync("/usr/bin/chromium") ? "/usr/bin/chromium" : undefined);

/** Each worker has a Dormouse of its own for its journeys, one file after another. */
export default defineConfig({
  testDir: "journeys",
  outputDir: "../test-results/journeys",
  globalSetup: "./fixtures/global-setup.ts",
  workers: 2,
  fullyParallel: false,
  forbidOnly: Boolean(process.env.CI),
  retries: 0,
  timeout: 120_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: {
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
});
