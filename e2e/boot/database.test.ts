import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../server/boot/embedded-postgres.ts";
import { readPasswords } from "../../server/boot/postgres/passwords.ts";
import { cleanUp, isRoot, lastingIn, makeDirectory, runDormouse, runToFailure } from "./run-dormouse.ts";

// A Postgres of somebody's own, whose owner role may create others, as a hosted one gives you.
let server: EmbeddedPostgres;
let serverHome: string;
let superuser: postgres.Sql;

beforeAll(async () => {
  serverHome = await mkdtemp(join(tmpdir(), "dormouse-own-postgres-"));
  await chmod(serverHome, 0o755);
  server = await startEmbeddedPostgres({ home: serverHome, signal: AbortSignal.timeout(60_000) });
  const url = new URL(server.ownerUrl);
  url.username = "postgres";
  url.password = (await readPasswords(serverHome))?.superuser ?? "";
  superuser = postgres(url.toString(), { max: 1, onnotice: () => {} });
});
afterEach(cleanUp);
afterAll(async () => {
  await superuser.end();
  await server.stop();
  await rm(serverHome, { recursive: true, force: true });
});

async function createEmptyDatabase(): Promise<URL> {
  const name = `own_${randomBytes(6).toString("hex")}`;
  await superuser.unsafe(`create database ${name} owner dormouse`);
  return Object.assign(new URL(server.ownerUrl), { pathname: `/${name}` });
}

describe("a Postgres of one's own", () => {
  it("needs one address only, and the embedded one is not started", async () => {
    const home = await makeDirectory();
    const environment = { DATABASE_URL: String(await createEmptyDatabase()), DATABASE_REQUIRED: "true" };
    const dormouse = runDormouse({ home, environment });
    const url = await dormouse.ready();
    expect((await fetch(`${url}/api/health/ready`)).status).toBe(200);
    expect(await readdir(home)).not.toContain("postgres");
    dormouse.process.kill("SIGTERM");
    expect(await dormouse.ended()).toBe(0);
  });

  it("is used under the application role that was given", async () => {
    const owner = await createEmptyDatabase();
    const role = `app_of_${owner.pathname.slice(1)}`;
    await superuser.unsafe(`create role ${role} login password 'p@ss'`);
    const application = Object.assign(new URL(owner), { username: role, password: "p@ss" });
    const environment = { DATABASE_URL: String(owner), DATABASE_APP_URL: String(application) };
    const url = await runDormouse({ home: await makeDirectory(), environment }).ready();
    expect((await fetch(`${url}/api/health/ready`)).status).toBe(200);
    const users = await superuser`select distinct usename from pg_stat_activity where application_name = 'dormouse'
      and datname = ${owner.pathname.slice(1)}`;
    expect(users).toEqual([{ usename: role }]);
  });

  const change = (part: "port" | "password" | "pathname" | "hostname", value: string) => (url: string) =>
    String(Object.assign(new URL(url), { [part]: value }));
  it.each([
    ["of another kind of database", (url: string) => url.replace("postgres:", "mysql:"), "must look like postgres://"],
    ["where nothing listens", change("port", "1"), "nothing listens there"],
    ["with a wrong password", change("password", "hunter2"), "refused the user or the password"],
    ["of a database that is not there", change("pathname", "/absent"), "that database does not exist"],
    ["of a host that is not known", change("hostname", "nowhere.invalid"), "the host is not known"],
  ])("is refused with a sentence at an address %s", async (_, spoil, sentence) => {
    const environment = { DATABASE_URL: spoil(server.ownerUrl) };
    const home = await makeDirectory();
    const said = await runToFailure({ home, environment });
    expect(await lastingIn(home)).toEqual([]);
    expect(said).toContain(sentence);
    expect(said).toContain("DATABASE_URL");
    expect(said).not.toContain(new URL(environment.DATABASE_URL).password);
    expect(said).not.toMatch(/^\s+at /m);
  });
});

describe("the data of the embedded Postgres", () => {
  async function makeData(home: string, version: string): Promise<string> {
    const data = join(home, "postgres", "data");
    await mkdir(data, { recursive: true, mode: 0o700 });
    await writeFile(join(data, "PG_VERSION"), `${version}\n`);
    for (const path of isRoot ? [join(home, "postgres"), data] : []) await chown(path, 65_534, 65_534);
    return data;
  }

  it("is refused when another major version made it, with a way to keep it", async () => {
    const home = await makeDirectory();
    const data = await makeData(home, "15");
    const said = await runToFailure({ home });
    expect(said).toContain(`The database in ${data} was made by Postgres 15`);
    expect(said).toContain("pg_dump");
    expect(said).toContain(`mv ${join(home, "postgres")} ${join(home, "postgres")}-15`);
    expect(await readdir(data)).toEqual(["PG_VERSION"]);
  });

  it("is refused when its passwords are gone, with a way out", async () => {
    const home = await makeDirectory();
    await makeData(home, "18");
    const said = await runToFailure({ home });
    expect(said).toContain(`${join(home, "postgres-passwords.json")} is gone`);
    expect(said).toContain("Put the file back from a backup");
  });
});
