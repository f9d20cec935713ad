import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../../../errors.ts";
import { canReach } from "../../../lib/can-reach.ts";
import { sharedDirectory } from "../../../lib/reachable-program.ts";
import type { LocalIsolation } from "./local-isolations.ts";
import { sandboxUid } from "./sandbox-uid.ts";

/** Where the files and sockets of one sandbox stand on the host. */
export interface PathsOfSandbox {
  /** The server's own: process record and log. The sandbox sees of it only `workspace`. */
  directory: string;
  workspace: string;
  log: string;
  /** The sidecar listens here; the directory is the sandbox's to write. */
  doorDirectory: string;
  door: string;
  /** The server listens here; the sandbox may connect, not exchange it. */
  serverDirectory: string;
  server: string;
}

export interface SandboxPaths {
  of(sandboxId: string): Promise<PathsOfSandbox>;
  /** Makes what is missing, with the owners and modes that keep sandboxes apart. */
  make(sandboxId: string, isolation: LocalIsolation): Promise<PathsOfSandbox>;
  listIds(): Promise<string[]>;
  /** Moves all files of a sandbox that does not run out of the way. Null when there are none. */
  setAside(sandboxId: string): Promise<string | null>;
}

// The shortest limit of all systems; a longer path fails with EINVAL.
const maxSocketPathBytes = 103;

/**
 * Everything stands in the home; but when root starts us, sandboxes run as other users, who cannot enter
 * a home below a closed directory such as /root. Then all of it stands below /var/lib/dormouse.
 */
export function createSandboxPaths(home: string, options: { maxSocketPath?: number } = {}): SandboxPaths {
  const longest = options.maxSocketPath ?? maxSocketPathBytes;
  const passing = process.getuid?.() === 0 ? 0o711 : 0o700;
  let base: Promise<string> | undefined;
  let sockets: Promise<string> | undefined;
  const findBase = () => {
    base ??= chooseBase(home, passing);
    return base;
  };
  const findSockets = async () => {
    sockets ??= chooseSockets(await findBase(), { longest, passing });
    return sockets;
  };

  async function of(sandboxId: string): Promise<PathsOfSandbox> {
    const directory = join(await findBase(), "sandboxes", sandboxId);
    const own = join(await findSockets(), createHash("sha256").update(sandboxId).digest("hex").slice(0, 12));
    return {
      directory,
      workspace: join(directory, "workspace"),
      log: join(directory, "sidecar.log"),
      doorDirectory: join(own, "door"),
      door: join(own, "door", "socket"),
      serverDirectory: join(own, "server"),
      server: join(own, "server", "socket"),
    };
  }

  return {
    of,
    async make(sandboxId, isolation) {
      const paths = await of(sandboxId);
      const uid = isolation === "sandboxed" ? sandboxUid(sandboxId) : null;
      const group = { owner: process.getuid?.() ?? -1, uid };
      await makeDirectory(join(paths.directory, ".."), passing);
      await makeDirectory(join(paths.doorDirectory, "..", ".."), passing);
      await makeDirectory(paths.directory, 0o710, group);
      await makeDirectory(join(paths.doorDirectory, ".."), 0o710, group);
      await makeDirectory(paths.serverDirectory, 0o710, group);
      // What an earlier life left where its sidecar listened could be anything.
      await rm(paths.doorDirectory, { recursive: true, force: true });
      await makeDirectory(paths.doorDirectory, 0o700, { owner: uid ?? group.owner, uid });
      await makeDirectory(paths.workspace, 0o700, { owner: uid ?? group.owner, uid });
      return paths;
    },
    async setAside(sandboxId) {
      const { directory } = await of(sandboxId);
      if (!existsSync(directory)) return null;
      const left = join(await findBase(), "sandboxes-left");
      await makeDirectory(left, 0o700);
      const aside = join(left, `${sandboxId}-${new Date().toISOString().replaceAll(":", "-")}`);
      await rename(directory, aside);
      return aside;
    },
    async listIds() {
      const names = await readdir(join(await findBase(), "sandboxes")).catch(() => []);
      return names.filter((name) => /^[0-9a-f-]{36}$/.test(name));
    },
  };
}

async function makeDirectory(path: string, mode: number, to?: { owner: number; uid: number | null }): Promise<void> {
  await mkdir(path, { recursive: true, mode });
  if (to && to.uid !== null) await chown(path, to.owner, to.uid);
  await chmod(path, mode);
}

async function chooseBase(home: string, passing: number): Promise<string> {
  const elsewhere = join(sharedDirectory, `${createHash("sha256").update(home).digest("hex").slice(0, 12)}-sandboxes`);
  if (existsSync(elsewhere)) return elsewhere;
  const uid = sandboxUid("probe");
  if (uid === null || canReach(home, { uid, gid: uid })) return home;
  if (existsSync(join(home, "sandboxes"))) {
    throw new AppError(
      "unavailable",
      `The users that sandboxes run as can no longer enter ${home}. Let them pass through the directories above it (chmod o+x), then start again.`,
    );
  }
  await mkdir(elsewhere, { recursive: true, mode: passing });
  await chmod(elsewhere, passing);
  const note = `The sandboxes of this Dormouse are in ${elsewhere}, since the users they run as cannot enter this directory.`;
  await writeFile(join(home, "sandboxes-are-elsewhere.txt"), `${note}\n`, { mode: 0o600 });
  return elsewhere;
}

async function chooseSockets(base: string, limits: { longest: number; passing: number }): Promise<string> {
  const inBase = join(base, "s");
  const longestName = join(inBase, "0".repeat(12), "server", "socket");
  if (Buffer.byteLength(longestName) <= limits.longest) return inBase;
  const noted = await readFile(join(base, "sockets-directory"), "utf8").catch(() => "");
  if (noted && (await isOurs(noted))) return noted;
  const made = await mkdtemp(join(process.getuid?.() === 0 ? "/tmp" : tmpdir(), "dormouse-"));
  await chmod(made, limits.passing);
  await writeFile(join(base, "sockets-directory"), made, { mode: 0o600 });
  return made;
}

// Whoever else may write to the directory for temporary files could have exchanged it.
async function isOurs(path: string): Promise<boolean> {
  const status = await lstat(path).catch(() => null);
  return status?.isDirectory() === true && status.uid === process.getuid?.();
}
