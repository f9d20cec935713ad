import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { bootstrap } from "./lib/bootstrap.mjs";
import { bringBubblewrap } from "./lib/bring-bubblewrap.mjs";
import { bringChromium } from "./lib/bring-chromium.mjs";
import { Problem, runProgram } from "./lib/problem.mjs";
import { createTestRunner } from "./lib/run-tests.mjs";
import { runVisibly } from "./lib/run-visibly.mjs";
import { durationLines, outcomeLines } from "./lib/test-summary.mjs";

/**
 * `npm test`: everything, on a fresh clone too. `--fast`, `--integration` and `--e2e` run a part, and pass further
 * words on to Vitest or Playwright. Stops at the first step that fails; what fails is run once more by itself before
 * it counts. The last line counts the tests.
 */
const minute = 60_000;
const parts = ["--fast", "--integration", "--e2e"];
/** @type {string[]} */
let summary = ["0 passed, 1 failed"];

await runProgram(async () => {
  const [part, ...words] = process.argv.slice(2);
  if (part && !parts.includes(part)) throw new Problem(`No such part of the tests: ${part}`);
  const { root, steps, node } = await bootstrap();
  // Vitest and Next choose their own.
  const { NODE_ENV: _, ...inherited } = process.env;
  const environment = { ...inherited, PATH: searchPath(root, node) };
  const runner = createTestRunner({ root, steps, environment });

  const check = async () => {
    for (const line of checksOf(root)) {
      const [command = "", ...parameters] = line.split(" ");
      if (!(await run(`Checking: ${line}`, `Checked: ${line}`, command, parameters, 5 * minute))) return false;
    }
    return true;
  };
  /** @type {(doing: string, done: string, command: string, parameters: string[], limit: number) => Promise<boolean>} */
  const run = (doing, done, command, parameters, timeoutMilliseconds) =>
    runVisibly({ doing, done, steps, command, parameters, cwd: root, environment, timeoutMilliseconds });
  const build = () => run("Preparing the pages", "Prepared the pages", "node", ["server/boot/build.ts"], 11 * minute);
  const fast = () => runner.vitest({ name: "fast", projects: ["fast"], words, timeoutMilliseconds: 10 * minute });
  const integration = () =>
    runner.vitest({ name: "integration", projects: ["integration"], words, timeoutMilliseconds: 30 * minute });
  const browser = () => runner.playwright({ name: "browser", words, timeoutMilliseconds: 30 * minute });
  const wanted = {
    "": [check, fast, build, integration, browser],
    "--fast": [fast],
    "--integration": [build, integration],
    "--e2e": [build, browser],
  }[part ?? ""];

  try {
    if (part !== "--fast") await bringBubblewrap({ root, steps });
    if (!part || part === "--e2e") {
      Object.assign(environment, { DORMOUSE_TEST_CHROMIUM: await bringChromium({ root, steps }) });
    }
    let ok = true;
    for (const step of wanted ?? []) ok &&= await step();
    const { tests, flaky, files } = runner.all;
    // What kept the tests from running at all must not read like success.
    const stopped = !ok && tests.every(({ outcome }) => outcome !== "failed");
    const cause = {
      file: "the checks or the build",
      name: "see above",
      outcome: /** @type {const} */ ("failed"),
      select: "",
    };
    summary = [...durationLines(files), ...outcomeLines({ tests: stopped ? [...tests, cause] : tests, flaky })];
    return ok ? 0 : 1;
  } finally {
    runner.close();
  }
});
console.log(summary.join("\n"));

/** @param {string} root */
function checksOf(root) {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return /** @type {string} */ (scripts.check).split(" && ");
}

/**
 * @param {string} root
 * @param {string} node
 */
function searchPath(root, node) {
  return [dirname(node), join(root, "node_modules", ".bin"), process.env.PATH].filter(Boolean).join(delimiter);
}
