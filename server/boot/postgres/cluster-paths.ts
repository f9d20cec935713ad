import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { access, chmod, chown, constants, cp, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { canReach, type SystemUser } from "../../lib/can-reach.ts";
import { sharedDirectory as shared } from "../../lib/reachable-program.ts";
import { BootError } from "../boot-error.ts";
import type { Binaries } from "./binaries.ts";
import { choosePostgresUser } from "./user.ts";

/**
 * Where binaries and data stand. Normally the package and the home; but when root starts us, Postgres runs
 * as another user, who cannot enter a clone or a home below a closed directory such as /root. Then
 * both stand below /var/lib/dormouse, and a note in the home says so.
 */
export interface ClusterPaths {
  binaries: Binaries;
  /** Holds the data directory and, for a moment, one that is being made. Belongs to `user`. */
  base: string;
  data: string;
  exists: boolean;
  user: SystemUser | null;
}

export async function chooseClusterPaths(options: {
  home: string;
  packaged: Binaries;
  onProgress: (line: string) => void;
}): Promise<ClusterPaths> {
  const { home, packaged, onProgress } = options;
  const existing = await findClusterPaths(home);
  const user = choosePostgresUser(existing?.data ?? null);
  const binaries = await reachableBinaries(packaged, user);
  if (existing) {
    requireOwnership(existing.data, user);
    return { binaries, ...existing, exists: true, user };
  }

  const inHome = join(home, "postgres");
  await makeBase(inHome, user);
  const base = canReach(inHome, user, "-w") ? inHome : elsewhere(home);
  if (base !== inHome) {
    await rm(inHome, { recursive: true, force: true });
    await mkdir(shared, { recursive: true, mode: 0o755 });
    await makeBase(base, user);
    if (!canReach(base, user, "-w")) {
      throw new BootError(
        `The user who runs Postgres can write neither to ${inHome} nor to ${base}. Set DORMOUSE_HOME to a directory that this user can reach: nothing below /root, for example.`,
      );
    }
    await writeFile(join(home, "postgres-is-elsewhere.txt"), `${note(base)}\n`, { mode: 0o600 });
    onProgress(note(base));
  }
  await removeLeftovers(base);
  return { binaries, base, data: join(base, "data"), exists: false, user };
}

/** Null before the first start. */
export async function findClusterPaths(home: string): Promise<{ base: string; data: string } | null> {
  for (const base of [join(home, "postgres"), elsewhere(home)]) {
    const data = join(base, "data");
    if (existsSync(data)) return { base, data };
  }
  return null;
}

function elsewhere(home: string): string {
  return join(shared, createHash("sha256").update(home).digest("hex").slice(0, 12));
}

function note(base: string): string {
  return `The database of this Dormouse is in ${base}, since the user who runs Postgres cannot enter the data directory.`;
}

async function makeBase(base: string, user: SystemUser | null): Promise<void> {
  await mkdir(base, { recursive: true, mode: 0o700 });
  await chmod(base, 0o700);
  if (user) await chown(base, user.uid, user.gid);
}

function requireOwnership(data: string, user: SystemUser | null): void {
  const owner = statSync(data).uid;
  const runner = user?.uid ?? process.getuid?.();
  if (runner === undefined || owner === runner) return;
  throw new BootError(
    `The database in ${data} belongs to the user with id ${owner}, and Postgres would run as ${runner}.
Start Dormouse as the user who started it before (with sudo, if it was root), or hand the data over: sudo chown -R ${runner} ${data}`,
  );
}

// An initdb that was killed leaves its unfinished directory, and the password it was given, behind.
async function removeLeftovers(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (name.startsWith("new-")) await rm(join(base, name), { recursive: true, force: true });
  }
}

async function reachableBinaries(packaged: Binaries, user: SystemUser | null): Promise<Binaries> {
  const program = join(packaged.directory, "bin", "postgres");
  if (canReach(program, user) && canReach(join(packaged.directory, "lib"), user)) return packaged;
  if (!user) {
    await access(program, constants.X_OK).catch((error: unknown) => {
      throw new BootError(`${program} cannot be run. Run npm install again.`, { cause: error });
    });
    return packaged;
  }
  const directory = join(shared, `postgres-${packaged.version}`);
  if (!existsSync(directory)) {
    const aside = `${directory}.new-${process.pid}`;
    await mkdir(shared, { recursive: true, mode: 0o755 });
    await cp(packaged.directory, aside, { recursive: true, verbatimSymlinks: true });
    await chmod(aside, 0o755);
    await rename(aside, directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
    await rm(aside, { recursive: true, force: true });
  }
  if (canReach(join(directory, "bin", "postgres"), user)) return { ...packaged, directory };
  throw new BootError(
    `Postgres refuses to run as root, and the user who runs it instead can reach neither ${program} nor ${directory}.
Start Dormouse as another user than root, or set DATABASE_URL to a Postgres of your own.`,
  );
}
