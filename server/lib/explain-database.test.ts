import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase, type Database } from "../../db/client.ts";
import { createTestDatabase, type TestDatabase } from "../../db/test-database.ts";
import { AppError } from "../errors.ts";
import { causes } from "../protocol/causes.ts";
import { explainDatabase } from "./explain-database.ts";

// Said at once, instead of being waited for.
const holdMilliseconds = 0;
let real: TestDatabase;
let connected: Database;
let admin: postgres.Sql;
beforeAll(async () => {
  real = await createTestDatabase();
  connected = createDatabase(real.applicationUrl, { holdMilliseconds });
  admin = postgres(real.applicationUrl, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await Promise.all([admin.end(), connected.close()]);
  await real[Symbol.asyncDispose]();
});

const away = { kind: "unavailable", message: causes["database-away"].message, fault: "database-away" };
const late = { kind: "timeout", message: causes["database-late"].message, fault: "database-late" };

const kill = async (pid: unknown) => {
  await admin`select pg_terminate_backend(${Number(pid)})`;
};

describe("a database that fails", () => {
  test("is away when its connection is killed in the middle of a transaction", async () => {
    const database = explainDatabase(connected);
    const work = database.transaction("nobody", async (tx) => {
      const [row] = await tx.execute(sql`select pg_backend_pid() as pid`);
      await kill(row?.pid);
      await tx.execute(sql`select 1`);
    });
    await expect(work).rejects.toMatchObject(away);
    expect(await database.call("select 1 as one", [])).toEqual([{ one: 1 }]);
  });

  test("is away when a call's connection is killed", async () => {
    const database = explainDatabase(connected);
    const asleep = expect(database.call("select pg_sleep(600)", [])).rejects.toMatchObject(away);
    const running = () =>
      admin<
        { pid: number }[]
      >`select pid from pg_stat_activity where query like 'select pg_sleep(600)%' and datname = ${new URL(real.applicationUrl).pathname.slice(1)}`;
    for (let found = await running(); ; found = await running()) {
      if (!found[0]) continue;
      await kill(found[0].pid);
      break;
    }
    await asleep;
  });

  test("is away when nobody listens, as after a stop", async () => {
    const url = new URL(real.applicationUrl);
    const free = createServer().listen(0, "127.0.0.1");
    await once(free, "listening");
    url.port = String((free.address() as AddressInfo).port);
    free.close();
    await once(free, "close");
    const stopped = explainDatabase(createDatabase(url.toString(), { holdMilliseconds }));
    await expect(stopped.call("select 1", [])).rejects.toMatchObject(away);
    await expect(stopped.transaction("nobody", (tx) => tx.execute(sql`select 1`))).rejects.toMatchObject(away);
    await stopped.close();
  });

  test("is away where its socket is gone", async () => {
    const folder = await mkdtemp("/tmp/dm-");
    const url = `postgres://somebody@localhost/none?host=${encodeURIComponent(folder)}`;
    const gone = explainDatabase(createDatabase(url, { holdMilliseconds }));
    await expect(gone.call("select 1", [])).rejects.toMatchObject({ kind: "unavailable" });
    await gone.close();
    await rm(folder, { recursive: true });
  });

  test("is late when a statement takes too long, and when it does not answer at all", async () => {
    const database = explainDatabase(connected);
    const slow = database.transaction("nobody", async (tx) => {
      await tx.execute(sql`set local statement_timeout = 20`);
      await tx.execute(sql`select pg_sleep(600)`);
    });
    await expect(slow).rejects.toMatchObject(late);
    const frozen = createServer(() => {}).listen(0, "127.0.0.1");
    await once(frozen, "listening");
    const url = Object.assign(new URL(real.applicationUrl), { port: String((frozen.address() as AddressInfo).port) });
    const silent = explainDatabase(createDatabase(url.toString(), { holdMilliseconds }));
    await expect(silent.ping()).rejects.toMatchObject(late);
    frozen.close();
    await silent.close();
  });
});

describe("what is none of the database's faults", () => {
  test("stays what it is: a refusal of its rows, and an error of whoever works with it", async () => {
    const database = explainDatabase(connected);
    const nonsense = database.transaction("nobody", (tx) => tx.execute(sql`select 1 / 0`));
    await expect(nonsense).rejects.not.toMatchObject({ fault: expect.any(String) });
    const own = new AppError("conflict", "No.", { cause: Object.assign(new Error(), { code: "ECONNRESET" }) });
    await expect(database.transaction("nobody", () => Promise.reject(own))).rejects.toBe(own);
  });
});
