import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { startEmbeddedPostgres } from "../server/boot/embedded-postgres.ts";
import { readPasswords } from "../server/boot/postgres/passwords.ts";
import { databaseUrl } from "../server/boot/postgres/url.ts";

/** One real Postgres for the whole run; each test file makes databases of its own on it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), "dormouse-test-"));
  await chmod(home, 0o755);
  const running = await startEmbeddedPostgres({ home, signal: AbortSignal.timeout(60_000) });
  const passwords = await readPasswords(home);
  const { port } = new URL(running.ownerUrl);
  const user = { user: "postgres", password: passwords?.superuser ?? "", port: Number(port), database: "postgres" };
  const superuser = postgres(databaseUrl(user), { max: 1 });
  await superuser`alter role dormouse createdb`;
  await superuser.end();
  project.provide("postgresUrl", running.ownerUrl);
  return async () => {
    await running.stop();
    await rm(home, { recursive: true, force: true });
  };
}
