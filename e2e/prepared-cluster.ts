import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startEmbeddedPostgres } from "../server/boot/embedded-postgres.ts";

const run = promisify(execFile);

/** The home of a Dormouse that has a database cluster and nothing else: made once, since initdb takes its time. */
export interface PreparedCluster {
  directory: string;
  remove(): Promise<void>;
}

export async function prepareCluster(): Promise<PreparedCluster> {
  const directory = await mkdtemp(join(tmpdir(), "dormouse-cluster-"));
  await chmod(directory, 0o755);
  const postgres = await startEmbeddedPostgres({ home: directory, signal: AbortSignal.timeout(120_000) });
  await postgres.stop();
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** With owners and modes: Postgres looks at both. */
export async function copyCluster(directory: string, home: string): Promise<void> {
  for (const name of ["postgres", "postgres-passwords.json"]) {
    await run("cp", ["-a", join(directory, name), join(home, name)]);
  }
}
