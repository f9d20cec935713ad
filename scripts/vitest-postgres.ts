import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { prepareDatabase } from "../db/migrate.ts";
import { startEmbeddedPostgres } from "../server/boot/embedded-postgres.ts";
import { readPasswords } from "../server/boot/postgres/passwords.ts";
import { databaseUrl } from "../server/boot/postgres/url.ts";

/**
 * One real Postgres for the whole run. A database is migrated here once, and each test file copies it: all the
 * copies have the application role of the first.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), "dormouse-test-"));
  await chmod(home, 0o755);
  const running = await startEmbeddedPostgres({ home, signal: AbortSignal.timeout(60_000) });
  const passwords = await readPasswords(home);
  const { port } = new URL(running.ownerUrl);
  const user = { user: "postgres", password: passwords?.superuser ?? "", port: Number(port), database: "postgres" };
  const superuser = postgres(databaseUrl(user), { max: 1 });
  await superuser`alter role dormouse createdb`;
  // Nothing here outlives the run, so nothing has to be flushed.
  for (const setting of ["fsync", "full_page_writes", "synchronous_commit"]) {
    await superuser.unsafe(`alter system set ${setting} = off`);
  }
  await superuser`select pg_reload_conf()`;
  const template = new URL(running.ownerUrl);
  template.pathname = "/migrated";
  await superuser`create database migrated owner dormouse`;
  const { applicationUrl } = await prepareDatabase({
    ownerUrl: template.toString(),
    applicationUrl: null,
    applicationPassword: "application-password",
    masterKeyCheck: "test",
  });
  await superuser.end();
  project.provide("postgresUrl", running.ownerUrl);
  project.provide("migratedUrl", applicationUrl);
  return async () => {
    await running.stop();
    await rm(home, { recursive: true, force: true });
  };
}
