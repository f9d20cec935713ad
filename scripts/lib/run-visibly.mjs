import { spawn } from "node:child_process";
import { performance } from "node:perf_hooks";

/**
 * Runs a program whose own words are worth reading while it works. Ctrl-C reaches it by itself; the end of
 * this process is passed on, and waits for the program's own.
 *
 * @param {{
 *   doing: string, done: string, steps: import("./steps.mjs").Steps, command: string, parameters: string[],
 *   cwd: string, environment: Record<string, string | undefined>, timeoutMilliseconds: number,
 *   output?: "inherit" | "ignore",
 * }} options
 * @returns {Promise<boolean>} whether it succeeded
 */
export async function runVisibly(options) {
  const {
    doing,
    done,
    steps,
    command,
    parameters,
    cwd,
    environment,
    timeoutMilliseconds,
    output = "inherit",
  } = options;
  const since = performance.now();
  steps.say(`${doing} …`);
  const code = await new Promise((resolve, reject) => {
    const child = spawn(command, parameters, {
      cwd,
      env: /** @type {NodeJS.ProcessEnv} */ (environment),
      stdio: ["ignore", output, output],
      timeout: timeoutMilliseconds,
    });
    const stop = () => child.kill("SIGTERM");
    const wait = () => {};
    process.on("SIGINT", wait);
    for (const signal of /** @type {const} */ (["SIGTERM", "SIGHUP"])) process.on(signal, stop);
    child.on("error", reject);
    child.on("exit", (ended) => {
      process.off("SIGINT", wait);
      for (const signal of /** @type {const} */ (["SIGTERM", "SIGHUP"])) process.off(signal, stop);
      resolve(ended);
    });
  });
  const seconds = ((performance.now() - since) / 1000).toFixed(1);
  steps.say(code === 0 ? `${done} in ${seconds} s` : `${doing} failed after ${seconds} s`);
  return code === 0;
}
