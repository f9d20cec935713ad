import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../server/boot/embedded-postgres.ts";
import { readPasswords } from "../../server/boot/postgres/passwords.ts";
import { cleanUp, lastingIn, makeDirectory, makeHome, runDormouse, runToFailure } from "./run-dormouse.ts";

// A Postgres of somebody's own, so that what a refused start left in it can be looked at.
let server: EmbeddedPostgres;
let serverHome: string;
beforeAll(async () => {
  serverHome = await mkdtemp(join(tmpdir(), "dormouse-own-postgres-"));
  await chmod(serverHome, 0o755);
  server = await startEmbeddedPostgres({ home: serverHome, signal: AbortSignal.timeout(60_000) });
});
afterEach(cleanUp);
afterAll(async () => {
  await server.stop();
  await rm(serverHome, { recursive: true, force: true });
});

async function createDatabase(): Promise<string> {
  const url = new URL(server.ownerUrl);
  url.username = "postgres";
  url.password = (await readPasswords(serverHome))?.superuser ?? "";
  const superuser = postgres(url.toString(), { max: 1, onnotice: () => {} });
  const name = `own_${randomBytes(6).toString("hex")}`;
  await superuser.unsafe(`create database ${name} owner dormouse`);
  await superuser.end();
  return String(Object.assign(new URL(server.ownerUrl), { pathname: `/${name}` }));
}

/** As the owner, in a connection that ends with it. */
async function asOwner<Result>(url: string, work: (owner: postgres.Sql) => Promise<Result>): Promise<Result> {
  const owner = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(owner);
  } finally {
    await owner.end();
  }
}

const installations = (url: string) => asOwner(url, async (owner) => [...(await owner`select * from installation`)]);

describe("a start that is refused leaves no key behind", () => {
  it("for a port that is taken, and the next start makes one", async () => {
    const home = await makeHome();
    const taken = createServer();
    const port = await new Promise<number>((resolve) => {
      taken.listen(0, "127.0.0.1", () => resolve((taken.address() as { port: number }).port));
    });
    expect(await runToFailure({ home, environment: { DORMOUSE_PORT: String(port) } })).toContain("is taken by");
    await new Promise((resolve) => taken.close(resolve));
    expect(await lastingIn(home)).toEqual([]);
    await runDormouse({ home }).ready();
    expect(await lastingIn(home)).toEqual(["master-key", "place", "store"]);
  });

  it("for a database of a newer version", async () => {
    const DATABASE_URL = await createDatabase();
    await asOwner(DATABASE_URL, async (owner) => {
      await owner`create schema drizzle`;
      await owner`create table drizzle.__drizzle_migrations (id serial, hash text not null, created_at bigint)`;
      await owner`insert into drizzle.__drizzle_migrations (hash, created_at) values ('future', 99999999999999)`;
    });
    const home = await makeDirectory();
    const said = await runToFailure({ home, environment: { DATABASE_URL } });
    expect(said).toContain("written by a newer version of Dormouse");
    expect(await lastingIn(home)).toEqual([]);
    const tables = await asOwner(DATABASE_URL, (owner) => owner`select from pg_tables where schemaname = 'public'`);
    expect(tables).toHaveLength(0);
  });

  it("for the database of another master key, which is not even brought up to date", async () => {
    const DATABASE_URL = await createDatabase();
    const environment = { DATABASE_URL };
    const first = runDormouse({ home: await makeDirectory(), environment });
    await first.ready();
    first.process.kill("SIGTERM");
    await first.ended();
    const [before] = await installations(DATABASE_URL);
    // As if an earlier version had written it: whoever migrates it now would trip over what is there.
    const forget = (owner: postgres.Sql) => owner`delete from drizzle.__drizzle_migrations where created_at =
      (select max(created_at) from drizzle.__drizzle_migrations)`;
    await asOwner(DATABASE_URL, forget);
    const home = await makeDirectory();
    expect(await runToFailure({ home, environment })).toContain(
      "The master key is not the one this database was made with",
    );
    expect(await lastingIn(home)).toEqual([]);
    expect(await installations(DATABASE_URL)).toEqual([before]);
  });

  it("for an application role that could look past row-level security", async () => {
    const DATABASE_URL = await createDatabase();
    const home = await makeDirectory();
    const environment = { DATABASE_URL, DATABASE_APP_URL: DATABASE_URL };
    expect(await runToFailure({ home, environment })).toContain("Give DATABASE_APP_URL a plain role");
    expect(await lastingIn(home)).toEqual([]);
    expect(await installations(DATABASE_URL)).toEqual([]);
  });

  it("for isolation that is not to be had", async () => {
    const DATABASE_URL = await createDatabase();
    const home = await makeDirectory();
    const programs = await makeDirectory();
    await writeFile(join(programs, "bwrap"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const environment = { DATABASE_URL, DORMOUSE_ISOLATION: "sandboxed", PATH: `${programs}:${process.env.PATH}` };
    expect(await runToFailure({ home, environment })).toContain("is too old or broken");
    expect(await lastingIn(home)).toEqual([]);
    expect(await installations(DATABASE_URL)).toEqual([]);
    // Another one, with a key of its own, finds the database free.
    await runDormouse({ home: await makeDirectory(), environment: { DATABASE_URL } }).ready();
    expect(await installations(DATABASE_URL)).toHaveLength(1);
  });

  it("for the file store of another installation", async () => {
    const DATABASE_URL = await createDatabase();
    const home = await makeDirectory();
    const store = await makeDirectory();
    await mkdir(join(store, "root"));
    const mark = join(store, "root", "installation.txt");
    await writeFile(mark, "another");
    const environment = { DATABASE_URL, DORMOUSE_FILE_STORE_ROOT: join(store, "root") };
    expect(await runToFailure({ home, environment })).toContain("belongs to another installation");
    expect(await lastingIn(home)).toEqual([]);
    expect(await installations(DATABASE_URL)).toEqual([]);
    expect(await readFile(mark, "utf8")).toBe("another");
  });
});
