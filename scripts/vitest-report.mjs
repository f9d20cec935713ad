import { writeFileSync } from "node:fs";

/**
 * A reporter of Vitest for what its own report leaves out: how long each file took with all that belongs to it, since
 * what takes long here is setting tests up; and which tests did not run because that failed, since they are counted as
 * skipped otherwise.
 */
export default class ReportOfFiles {
  /** @param {readonly import("vitest/node").TestModule[]} modules */
  onTestRunEnd(modules) {
    const files = modules.map((module) => {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      const broken = [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
      const unrun = broken.flatMap((suite) =>
        [...suite.children.allTests("skipped")].filter(({ options }) => options.mode === "run"),
      );
      return {
        file: module.relativeModuleId,
        milliseconds: collectDuration + setupDuration + duration,
        unrun: [...new Set(unrun.map(({ fullName }) => fullName))],
      };
    });
    writeFileSync(process.env.VITEST_FILES_REPORT ?? "files.json", JSON.stringify(files));
  }
}
