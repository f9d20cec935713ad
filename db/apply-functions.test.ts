import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import postgres from "postgres";
import { describe, expect, it } from "vitest";
import { readFunctionFiles } from "./apply-functions.ts";
import { prepareDatabase } from "./migrate.ts";
import { createEmptyDatabase } from "./test-database.ts";

const rest = { applicationUrl: null, applicationPassword: "secret", masterKeyCheck: "check" };

interface Definition {
  name: string;
  definition: string;
}

const definitionsOf = (sql: postgres.Sql | postgres.TransactionSql): Promise<Definition[]> =>
  sql<Definition[]>`
    select proname as name, pg_get_functiondef(p.oid) as definition
    from pg_proc p where pronamespace = 'public'::regnamespace order by proname, p.oid`.then((rows) => [...rows]);

describe("SQL functions", () => {
  it("stand in one file each, which says what the database does", async () => {
    const owner = postgres(await prepared(), { max: 1, onnotice: () => {} });
    const inDatabase = await definitionsOf(owner);
    const files = readFunctionFiles();
    expect(files.map(({ name }) => name)).toEqual(inDatabase.map(({ name }) => name));

    // Each file by itself, into a database without any of our functions and triggers: what it makes is its own.
    const fresh = await owner.begin(async (tx) => {
      const made: Definition[] = [];
      for (const { name } of files) await tx.unsafe(`drop function ${name} cascade`);
      for (const { name, definition } of files) {
        await tx.unsafe(definition);
        const now = await definitionsOf(tx);
        expect(now.map((row) => row.name)).toEqual([...made.map((row) => row.name), name]);
        made.splice(0, made.length, ...now);
      }
      return made;
    });
    await owner.end();
    expect(fresh).toEqual(inDatabase);
  });

  it("are brought back to their files at the next start", async () => {
    const ownerUrl = await prepared();
    const owner = postgres(ownerUrl, { max: 1, onnotice: () => {} });
    const before = await definitionsOf(owner);
    await owner`create or replace function first_run_pending() returns boolean language sql as 'select false'`;
    expect(await definitionsOf(owner)).not.toEqual(before);
    await prepareDatabase({ ownerUrl, ...rest });
    expect(await definitionsOf(owner)).toEqual(before);
    await owner.end();
  });

  it("are left alone in a database of a newer version", async () => {
    const ownerUrl = await prepared();
    const owner = postgres(ownerUrl, { max: 1, onnotice: () => {} });
    await owner`insert into drizzle.__drizzle_migrations (hash, created_at) values ('future', 99999999999999)`;
    await owner`create or replace function first_run_pending() returns boolean language sql as 'select false'`;
    const newer = await definitionsOf(owner);
    await expect(prepareDatabase({ ownerUrl, ...rest })).rejects.toThrow("newer version of Dormouse");
    expect(await definitionsOf(owner)).toEqual(newer);
    await owner.end();
  });

  it("are the application role's to call and nobody else's", async () => {
    const ownerUrl = await prepared();
    const owner = postgres(ownerUrl, { max: 1, onnotice: () => {} });
    const [open] = await owner<{ toPublic: number; toApplication: number }[]>`
      select count(*) filter (where exists (select from aclexplode(proacl) where grantee = 0))::integer as "toPublic",
        count(*) filter (where has_function_privilege(left(current_database(), 50) || '_app', oid, 'execute'))::integer
          as "toApplication"
      from pg_proc where pronamespace = 'public'::regnamespace`;
    await owner.end();
    expect(open).toEqual({ toPublic: 0, toApplication: readFunctionFiles().length });
  });

  it("change with a migration, by which an older server knows that they are not its own to replace", () => {
    const folder = new URL("./migrations/", import.meta.url);
    const marks = readdirSync(folder)
      .filter((file) => file.endsWith(".sql"))
      .sort()
      .flatMap((file) => [...readFileSync(new URL(file, folder), "utf8").matchAll(/^-- functions: (\w+)$/gm)]);
    // Comments and layout may change by themselves.
    const bodies = readFunctionFiles().map(({ definition }) => definition.replace(/--.*$/gm, "").replace(/\s+/g, " "));
    const now = createHash("sha256").update(bodies.join("\n")).digest("hex").slice(0, 16);
    expect(
      marks.at(-1)?.[1],
      `db/functions has changed. Write the line "-- functions: ${now}" into the migration that comes with it (db/functions/README.md).`,
    ).toBe(now);
  });

  it("fix their search path, so that nobody can put a table of their own in between", () => {
    const loose = readFunctionFiles().filter(
      ({ definition }) => !definition.includes("SET search_path = public, pg_temp"),
    );
    expect(loose).toEqual([]);
  });
});

async function prepared(): Promise<string> {
  const ownerUrl = await createEmptyDatabase();
  await prepareDatabase({ ownerUrl, ...rest });
  return ownerUrl;
}
