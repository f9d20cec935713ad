import { spawnSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";

/** What one run took. */
export interface Cost {
  seconds: number;
  cpuSeconds: number;
  /** Only known of ours. */
  memoryBytes?: number;
}

/** Makes archives of a directory, and directories of its own archives. */
export interface ArchiveTool {
  name: string;
  create(directory: string, file: string): Cost;
  /** The directory must not exist. */
  restore(file: string, directory: string): Cost;
}

const program = resolve(import.meta.dirname, "../archive-program.ts");

export const ours: ArchiveTool = {
  name: "ours",
  create: (directory, file) => runOurs("create", directory, file),
  restore: (file, directory) => runOurs("restore", file, directory),
};

export const gzip: ArchiveTool = throughShell("tar | gzip -1", "gzip");
export const pigz: ArchiveTool = throughShell("tar | pigz -1", "pigz");

export function isHere(tool: "pigz"): boolean {
  return spawnSync("sh", ["-c", `command -v ${tool}`]).status === 0;
}

function throughShell(name: string, packer: string): ArchiveTool {
  return {
    name,
    create: (directory, file) => runShell(`tar -C '${directory}' -c . | ${packer} -1 > '${file}'`),
    restore: (file, directory) =>
      runShell(`mkdir '${directory}' && ${packer} -dc '${file}' | tar -C '${directory}' -x`),
  };
}

function runOurs(...parameters: string[]): Cost {
  return JSON.parse(run(process.execPath, [program, ...parameters])) as Cost;
}

function runShell(command: string): Cost {
  const began = performance.now();
  const output = run("sh", ["-c", `${command}\ntimes`]);
  const seconds = (performance.now() - began) / 1_000;
  // Two lines: of the shell itself, of all that it waited for.
  const times = [...output.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  );
  return { seconds, cpuSeconds: times.reduce((sum, time) => sum + time, 0) };
}

function run(command: string, parameters: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, parameters, {
    encoding: "utf8",
    cwd: join(dirname(program), ".."),
  });
  if (status !== 0) throw new Error(`${command} ${parameters.join(" ")} ended with ${status}: ${stderr}`);
  return stdout;
}
