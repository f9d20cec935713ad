import { writeFileSync } from "node:fs";

/**
 * A reporter of Vitest that knows how long each file took with all that belongs to it: its own report counts the
 * tests alone, and what takes long here is setting them up.
 */
export default class DurationsReporter {
  /** @param {readonly import("vitest/node").TestModule[]} modules */
  onTestRunEnd(modules) {
    const files = modules.map((module) => {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      return { file: module.relativeModuleId, milliseconds: collectDuration + setupDuration + duration };
    });
    writeFileSync(process.env.VITEST_DURATIONS_FILE ?? "durations.json", JSON.stringify(files));
  }
}
