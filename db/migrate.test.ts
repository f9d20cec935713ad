import postgres from "postgres";
import { describe, expect, it } from "vitest";
import { prepareDatabase } from "./migrate.ts";
import { createEmptyDatabase } from "./test-database.ts";

const rest = { applicationUrl: null, applicationPassword: "secret", masterKeyCheck: "check" };

describe("preparing the database", () => {
  it("works once for five servers that start together, and finds nothing to do the next time", async () => {
    const ownerUrl = await createEmptyDatabase();
    const all = await Promise.all(Array.from({ length: 5 }, () => prepareDatabase({ ownerUrl, ...rest })));
    expect(new Set(all.map(({ applicationUrl }) => applicationUrl)).size).toBe(1);
    expect(await prepareDatabase({ ownerUrl, ...rest })).toEqual(all[0]);
  });

  it("makes an application role that cannot look past row-level security", async () => {
    const ownerUrl = await createEmptyDatabase();
    const { applicationUrl } = await prepareDatabase({ ownerUrl, ...rest });
    const application = postgres(applicationUrl, { max: 1 });
    const [role] =
      await application`select rolsuper, rolbypassrls, rolcreaterole from pg_roles where rolname = current_user`;
    await application.end();
    expect(role).toEqual({ rolsuper: false, rolbypassrls: false, rolcreaterole: false });
  });

  it("refuses a database of a newer version and leaves it as it was", async () => {
    const ownerUrl = await createEmptyDatabase();
    await prepareDatabase({ ownerUrl, ...rest });
    const owner = postgres(ownerUrl, { max: 1 });
    await owner`insert into drizzle.__drizzle_migrations (hash, created_at) values ('future', 99999999999999)`;
    await owner.end();
    await expect(prepareDatabase({ ownerUrl, ...rest })).rejects.toThrow("newer version of Dormouse");
  });

  it("refuses another master key before it changes anything that others use", async () => {
    const ownerUrl = await createEmptyDatabase();
    const { applicationUrl } = await prepareDatabase({ ownerUrl, ...rest });
    const wrong = prepareDatabase({ ownerUrl, ...rest, applicationPassword: "other", masterKeyCheck: "other" });
    await expect(wrong).rejects.toThrow("master key is not the one");
    const application = postgres(applicationUrl, { max: 1 });
    expect(await application`select 1 as one`).toEqual([{ one: 1 }]);
    await application.end();
  });

  it("names what is wrong with an address, and never the password", async () => {
    const url = new URL(await createEmptyDatabase());
    const attempt = (change: Partial<Record<"port" | "password" | "pathname" | "hostname", string>>) => {
      const changed = Object.assign(new URL(url), change);
      return prepareDatabase({ ownerUrl: changed.toString(), ...rest }).catch((error: unknown) => error as Error);
    };
    const refused = await attempt({ port: "1" });
    const password = await attempt({ password: "hunter2" });
    const missing = await attempt({ pathname: "/absent" });
    const host = await attempt({ hostname: "nowhere.invalid" });
    expect(refused).toMatchObject({
      name: "DatabaseProblem",
      message: expect.stringContaining("nothing listens there"),
    });
    expect(password).toMatchObject({
      name: "DatabaseProblem",
      message: expect.stringContaining("refused the user or the password"),
    });
    expect(missing).toMatchObject({ name: "DatabaseProblem", message: expect.stringContaining("does not exist") });
    expect(host).toMatchObject({ name: "DatabaseProblem", message: expect.stringContaining("not known") });
    for (const error of [refused, password, missing, host]) {
      expect((error as Error).message).toContain("DATABASE_URL");
      expect((error as Error).message).not.toContain("hunter2");
      expect((error as Error).message).not.toContain(url.password);
    }
  });

  it("takes an application role of its own, but not one that owns the tables or does not exist", async () => {
    const ownerUrl = await createEmptyDatabase();
    await expect(prepareDatabase({ ownerUrl, ...rest, applicationUrl: ownerUrl })).rejects.toThrow("plain role");
    const name = `plain_${new URL(ownerUrl).pathname.slice(1)}`;
    const applicationUrl = new URL(ownerUrl);
    applicationUrl.username = name;
    applicationUrl.password = "plain";
    const prepare = () => prepareDatabase({ ownerUrl, ...rest, applicationUrl: applicationUrl.toString() });
    await expect(prepare()).rejects.toThrow("does not exist in the database");
    const owner = postgres(ownerUrl, { max: 1 });
    await owner.unsafe(`create role ${name} login password 'plain'`);
    await owner.end();
    expect(await prepare()).toEqual({ applicationUrl: applicationUrl.toString() });
  });

  it("says what to do where the owner may not create the role", async () => {
    const ownerUrl = new URL(await createEmptyDatabase());
    const database = ownerUrl.pathname.slice(1);
    const owner = postgres(ownerUrl.toString(), { max: 1 });
    await owner.unsafe(`create role weak_${database} login password 'weak'; grant all on schema public to weak_${database};
      grant create on database ${database} to weak_${database}`);
    await owner.end();
    ownerUrl.username = `weak_${database}`;
    ownerUrl.password = "weak";
    await expect(prepareDatabase({ ownerUrl: ownerUrl.toString(), ...rest })).rejects.toThrow("DATABASE_APP_URL");
  });
});
