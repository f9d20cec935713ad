import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { build } from "esbuild";

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

const root = resolve(import.meta.dirname, "../..");

/** Bundled into the folder like the sidecar is: to strip types of sources keeps a thread busy for a while. */
export async function bundleOurs(folder: string): Promise<ArchiveTool> {
  const program = join(folder, "archive-program.mjs");
  const options = { bundle: true, platform: "node", format: "esm", target: "node24", logLevel: "error" } as const;
  await build({ ...options, entryPoints: [join(root, "bench/archive-program.ts")], outfile: program });
  const runOurs = (...parameters: string[]) => JSON.parse(run(process.execPath, [program, ...parameters])) as Cost;
  return {
    name: "ours",
    create: (directory, file) => runOurs("create", directory, file),
    restore: (file, directory) => runOurs("restore", file, directory),
  };
}

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
    cwd: root,
  });
  if (status !== 0) throw new Error(`${command} ${parameters.join(" ")} ended with ${status}: ${stderr}`);
  return stdout;
}
