import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { AppError } from "../../../errors.ts";

/** What runs in a sandbox, where it stands on the host. */
export interface SandboxPrograms {
  node: { path: string; version: string };
  opencode: { path: string; version: string };
  ripgrep: { path: string; version: string };
  /** The bundled sidecar. */
  sidecar: string;
}

/** From the installed packages of `root`, the directory of this project, as far as they are not known. Throws `unavailable` when one is missing. */
export function findPrograms(root: string, known: Partial<SandboxPrograms> = {}): SandboxPrograms {
  const require = createRequire(join(root, "package.json"));
  return {
    node: known.node ?? { path: process.execPath, version: process.version },
    opencode: known.opencode ?? findOpencode(require),
    ripgrep: known.ripgrep ?? findRipgrep(require),
    sidecar: known.sidecar ?? requireFile(join(root, "dist", "sidecar.mjs"), "the sidecar was not built"),
  };
}

function findOpencode(require: NodeJS.Require) {
  const description = require.resolve("opencode-ai/package.json");
  const { version } = JSON.parse(readFileSync(description, "utf8")) as { version: string };
  // Its own installation puts the program for this processor here; a small file means that this was not allowed.
  const path = join(dirname(description), "bin", "opencode.exe");
  if (!existsSync(path) || statSync(path).size < 1024 * 1024) throw missing("opencode was not installed completely");
  return { path, version };
}

function findRipgrep(require: NodeJS.Require) {
  const name = `@vscode/ripgrep-${process.platform}-${process.arch}`;
  const inside = createRequire(require.resolve("@vscode/ripgrep"));
  const description = inside.resolve(`${name}/package.json`);
  const { version } = JSON.parse(readFileSync(description, "utf8")) as { version: string };
  return { path: requireFile(join(dirname(description), "bin", "rg"), "ripgrep is missing"), version };
}

function requireFile(path: string, problem: string): string {
  if (!existsSync(path)) throw missing(problem);
  return path;
}

function missing(problem: string): AppError {
  return new AppError("unavailable", `Sandboxes cannot run: ${problem}. Run npm install and start again.`);
}
