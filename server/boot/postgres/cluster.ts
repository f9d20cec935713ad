import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chown, readFile, rename, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BootError } from "../boot-error.ts";
import type { ClusterPaths } from "./cluster-paths.ts";

const initMilliseconds = 120_000;

/** Made under another name and renamed when complete: a start that dies half-way leaves nothing to trip over. */
export async function createCluster(options: {
  paths: ClusterPaths;
  superuserPassword: string;
  signal: AbortSignal;
}): Promise<void> {
  const { paths, superuserPassword, signal } = options;
  const id = randomUUID();
  const unfinished = join(paths.base, `new-${id}`);
  const passwordFile = join(paths.base, `new-${id}.password`);
  try {
    await writeFile(passwordFile, superuserPassword, { mode: 0o600 });
    if (paths.user) await chown(passwordFile, paths.user.uid, paths.user.gid);
    await runInitdb({ paths, unfinished, passwordFile, signal });
    await rename(unfinished, paths.data);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/** Data of another major version can be neither read nor converted by the binaries at hand. */
export async function refuseOtherMajor({ home, paths }: { home: string; paths: ClusterPaths }): Promise<void> {
  if (!paths.exists) return;
  const made = (await readFile(join(paths.data, "PG_VERSION"), "utf8")).trim();
  const ours = String(paths.binaries.major);
  if (made === ours) return;
  const passwords = join(home, "postgres-passwords.json");
  const connect = `-h 127.0.0.1 -p $(sed -n 4p ${paths.data}/postmaster.pid) -U dormouse`;
  const password = `PGPASSWORD=$(node -p 'require("${passwords}").owner')`;
  throw new BootError(
    `The database in ${paths.data} was made by Postgres ${made}. This version of Dormouse comes with Postgres ${ours}, which cannot read it.
To keep the data:
  1. Start the version of Dormouse that you used before and, while it runs, save its database:
     ${password} pg_dump ${connect} -Fc dormouse > dormouse.dump
  2. Stop it and move its database aside:
     mv ${paths.base} ${paths.base}-${made}
  3. Start this version once, and while it runs load the database:
     ${password} pg_restore ${connect} --clean --if-exists --no-owner -d dormouse dormouse.dump
To start empty, do only step 2: the old data stays where you moved it.`,
  );
}

async function runInitdb(options: {
  paths: ClusterPaths;
  unfinished: string;
  passwordFile: string;
  signal: AbortSignal;
}): Promise<void> {
  const { paths, unfinished, passwordFile, signal } = options;
  const parameters = [
    `--pgdata=${unfinished}`,
    "--username=postgres",
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    // We remove what is unfinished ourselves, after a look at why: a disk that was full would be empty by then.
    "--no-clean",
  ];
  const child = spawn(join(paths.binaries.directory, "bin", "initdb"), parameters, {
    ...paths.user,
    cwd: paths.base,
    // Nothing of our own environment, which holds secrets, is needed there.
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C", NODE_ENV: "production" },
    stdio: ["ignore", "pipe", "pipe"],
    signal: AbortSignal.any([signal, AbortSignal.timeout(initMilliseconds)]),
    // In its own session, so that Ctrl-C ends it through us and the leftovers are removed.
    detached: true,
  });
  let output = "";
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", (error) => (signal.aborted ? resolve(null) : reject(error)));
    child.on("close", resolve);
  });
  signal.throwIfAborted();
  if (code !== 0) throw await describeFailure({ paths, output, code });
}

async function describeFailure(options: {
  paths: ClusterPaths;
  output: string;
  code: number | null;
}): Promise<BootError> {
  const { paths, output, code } = options;
  const { bavail, bsize, files, ffree } = await statfs(paths.base);
  const freeMegabytes = Math.floor((bavail * bsize) / 1024 / 1024);
  // Some file systems have no fixed number of files, and say 0.
  const noFilesLeft = files > 0 && ffree < 1000;
  if (freeMegabytes < 50 || noFilesLeft) {
    const left = noFilesLeft ? `room for ${ffree} more files is left` : `${freeMegabytes} MB are free`;
    return new BootError(
      `The disk is full: making the database in ${paths.base} needs about 50 MB and 1,000 files, and ${left}.
Free some space, or set DORMOUSE_HOME to a directory on another disk, and start again.`,
    );
  }
  return new BootError(
    `The database in ${paths.base} could not be made (initdb ended with ${code}). Its last output:\n${output.trim()}`,
  );
}
