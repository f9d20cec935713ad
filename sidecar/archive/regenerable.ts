import { existsSync } from "node:fs";
import { join } from "node:path";
import type { RawName } from "../../server/protocol/archive/raw-name.ts";
import type { PathOfName } from "./walk-tree.ts";

/** Folders that tools make again from what is archived. They are named in the manifest. */
const always = new Set([
  "node_modules",
  "bower_components",
  ".next",
  ".nuxt",
  ".svelte-kit",
  ".astro",
  ".turbo",
  ".parcel-cache",
  ".vite",
  ".cache",
  ".npm",
  ".pnpm-store",
  ".yarn-cache",
  "__pycache__",
  ".pytest_cache",
  ".mypy_cache",
  ".ruff_cache",
  ".tox",
  ".nox",
  ".ipynb_checkpoints",
  ".gradle",
  ".terraform",
]);

/** Names that people use for their own things as well: only with what their tool leaves in them. */
const withSign: Record<string, string> = { ".venv": "pyvenv.cfg", venv: "pyvenv.cfg", env: "pyvenv.cfg" };
/** The agreed sign of a cache (bford.info/cachedir); Cargo's `target` has it. */
const cacheSign = "CACHEDIR.TAG";

export function isRegenerable(name: RawName, path: PathOfName): boolean {
  const segments = name.split("/");
  // In a repository's own folder any name may be a branch.
  if (segments.includes(".git")) return false;
  const last = segments.at(-1) ?? "";
  if (always.has(last)) return true;
  const sign = withSign[last];
  return (sign !== undefined && has(path, sign)) || has(path, cacheSign);
}

function has(directory: PathOfName, name: string): boolean {
  if (typeof directory === "string") return existsSync(join(directory, name));
  return existsSync(Buffer.concat([directory, Buffer.from(`/${name}`)]));
}
