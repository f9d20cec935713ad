import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { uncheckedPackages, withMissingPlatforms } from "./lib/lock-platforms.mjs";
import { Problem, runProgram } from "./lib/problem.mjs";
import { runChild } from "./lib/run-child.mjs";

// After a package was added or raised: package-lock.json names the packages of all platforms again. Those that
// the registry lacked so far are asked for anew, so a run beside a fuller registry adds their digests.
await runProgram(async () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const file = `${root}package-lock.json`;
  const read = () => JSON.parse(readFileSync(file, "utf8"));
  /** @param {unknown} lock */
  const write = (lock) => writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);

  const asked = read();
  for (const path of uncheckedPackages(asked)) delete asked.packages[path];
  write(asked);
  const parameters = ["install", "--package-lock-only", "--no-audit", "--no-fund"];
  const { code, output } = await runChild("npm", parameters, { cwd: root, timeoutMilliseconds: 5 * 60_000 });
  if (code !== 0) throw new Problem(`npm ended with ${code}. Its last output:\n\n${output}`);
  const completed = withMissingPlatforms(read());
  write(completed);
  const unchecked = uncheckedPackages(completed).map((path) => path.replace(/^.*node_modules\//, ""));
  if (unchecked.length > 0) console.log(`The registry has no digest of:\n  ${unchecked.join("\n  ")}`);
  return 0;
});
