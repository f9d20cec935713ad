import { spawn } from "node:child_process";

const tailLength = 4000;

/**
 * Runs a program to its end, quietly, and keeps the end of what it said. It ends with us: a signal that
 * would end this process is passed on first.
 *
 * @param {string} command
 * @param {string[]} parameters
 * @param {{ cwd: string, timeoutMilliseconds: number }} options
 * @returns {Promise<{ code: number, output: string }>}
 */
export function runChild(command, parameters, { cwd, timeoutMilliseconds }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, parameters, { cwd, stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMilliseconds });
    let output = "";
    /** @param {Buffer} chunk */
    const keep = (chunk) => {
      output = (output + chunk).slice(-tailLength);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);

    /** @type {NodeJS.Signals | undefined} */
    let interruptedBy;
    /** @param {NodeJS.Signals} signal */
    const interrupt = (signal) => {
      interruptedBy = signal;
      child.kill(signal);
    };
    const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
    for (const signal of signals) process.on(signal, interrupt);
    const release = () => {
      for (const signal of signals) process.off(signal, interrupt);
    };

    child.on("error", (error) => {
      release();
      reject(error);
    });
    child.on("close", (code) => {
      release();
      if (interruptedBy) process.kill(process.pid, interruptedBy);
      else resolve({ code: code ?? 1, output: output.trim() });
    });
  });
}
