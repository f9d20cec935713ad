import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { runProgram } from "../../../lib/run-program.ts";

export interface Bubblewrap {
  path: string;
  version: string;
  disableUserns: boolean;
}

/** A sentence that says what is missing and what to do, or the program. Bounded by `signal`. */
export async function findBubblewrap(
  searchPath: string,
  signal: AbortSignal,
): Promise<Bubblewrap | { reason: string }> {
  if (process.platform !== "linux") return { reason: "Sandboxes need bubblewrap, which runs only on Linux." };
  const path = searchPath
    .split(delimiter)
    .filter(Boolean)
    .map((directory) => join(directory, "bwrap"))
    .find(isExecutable);
  if (!path) return { reason: "bubblewrap (bwrap) is not installed. Install the package bubblewrap and start again." };
  const [help, said] = await Promise.all([ask(path, "--help", signal), ask(path, "--version", signal)]);
  const version = said.replace(/^bubblewrap\s+/, "").trim();
  if (!help.includes("--bind-fd")) {
    return {
      reason: `${path} (${version || "unknown version"}) is too old or broken. Update the package bubblewrap and start again.`,
    };
  }
  return { path, version, disableUserns: help.includes("--disable-userns") };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Empty when the program fails: that says nothing more than that it is broken. */
async function ask(path: string, option: string, signal: AbortSignal): Promise<string> {
  try {
    const { output } = await runProgram({ path, parameters: [option], environment: {}, signal });
    return output;
  } catch {
    signal.throwIfAborted();
    return "";
  }
}
