import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { childrenOf, signalPid } from "../sandboxes/backends/local/process-identity.ts";

/** The programs of the one sandbox of a test, for signals. They are looked for each time: the agent may be another by now. */
export interface SandboxPrograms {
  /** False when it does not run. */
  signal(program: "sidecar" | "agent", signal: NodeJS.Signals): boolean;
  /** Whether a program of the sandbox has these words in its command line. */
  runs(words: string): boolean;
}

const commands = { sidecar: "sidecar.mjs", agent: "serve\0--hostname" };

/** `home` of the server that runs it. */
export function createSandboxPrograms(home: string): SandboxPrograms {
  function all(): { pid: number; command: string }[] {
    const lives = globSync(join(home, "sandboxes", "*", "life.json"));
    const found = lives.map((path) => (JSON.parse(readFileSync(path, "utf8")) as { first: { pid: number } }).first.pid);
    for (const pid of found) found.push(...childrenOf(pid));
    return found.map((pid) => ({ pid, command: commandOf(pid) }));
  }

  return {
    signal(program, signal) {
      // Its own children come after it.
      const found = all().find(({ command }) => isNode(command) && command.includes(commands[program]));
      if (found) signalPid(found.pid, signal);
      return found !== undefined;
    },
    runs: (words) => all().some(({ command }) => command.replaceAll("\0", " ").includes(words)),
  };
}

/** Not what holds the sandbox, which names its programs too. */
const isNode = (command: string) => !command.split("\0", 1)[0]?.includes("bwrap");

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
