import { performance } from "node:perf_hooks";

/**
 * Says what is going on and how long it takes. On a terminal, all running steps share one line that is
 * updated in place; elsewhere every step writes a plain line when it begins and one when it ends.
 *
 * @typedef {object} Step
 * @property {string} doing e.g. "Installing packages"
 * @property {string} done e.g. "Installed packages"
 *
 * @typedef {object} Steps
 * @property {<Result>(step: Step, work: () => Promise<Result>) => Promise<Result>} run
 * @property {(line: string) => void} say writes a line without disturbing the running steps
 */

/**
 * @param {{ isTTY?: boolean, columns?: number, write(text: string): unknown }} stream
 * @returns {Steps}
 */
export function createSteps(stream = process.stdout) {
  /** @type {Map<Step, number>} */
  const running = new Map();
  const inPlace = stream.isTTY === true;
  /** @type {NodeJS.Timeout | undefined} */
  let ticker;

  const clear = () => {
    if (inPlace) stream.write("\r\u001b[2K");
  };
  const draw = () => {
    if (!inPlace || running.size === 0) return;
    const parts = [...running].map(([step, since]) => `${step.doing} … ${Math.floor(seconds(since))} s`);
    clear();
    stream.write(parts.join("   ").slice(0, (stream.columns ?? 80) - 1));
  };
  /** @param {string} line */
  const say = (line) => {
    clear();
    stream.write(`${line}\n`);
    draw();
  };

  return {
    say,
    async run(step, work) {
      const since = performance.now();
      running.set(step, since);
      if (inPlace) {
        draw();
        ticker ??= setInterval(draw, 250).unref();
      } else {
        say(`${step.doing} …`);
      }
      let ended = `${step.doing} failed`;
      try {
        const result = await work();
        ended = step.done;
        return result;
      } finally {
        running.delete(step);
        if (running.size === 0) {
          clearInterval(ticker);
          ticker = undefined;
        }
        say(
          ended === step.done
            ? `${ended} in ${seconds(since).toFixed(1)} s`
            : `${ended} after ${seconds(since).toFixed(1)} s`,
        );
      }
    },
  };
}

/** @param {number} since */
function seconds(since) {
  return (performance.now() - since) / 1000;
}
