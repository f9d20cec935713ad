import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TransactionActor } from "./client.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";

// Two tenants, each with an admin and a user; one row of every kind for the first tenant's user.
let test: TestDatabase;
let owner: postgres.Sql;
type Person = Exclude<TransactionActor, "nobody">;
const people: Record<"admin" | "user" | "foreignAdmin" | "foreignUser", Person> = {} as never;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = postgres(test.ownerUrl, { onnotice: () => {} });
  for (const tenant of ["own", "foreign"] as const) {
    const tenantId = randomUUID();
    await owner`insert into tenants (id, name) values (${tenantId}, ${tenant})`;
    for (const role of ["admin", "user"] as const) {
      const userId = randomUUID();
      await owner`insert into users (id, tenant_id, email, name, role, password_hash)
        values (${userId}, ${tenantId}, ${`${tenant}-${role}@example.org`}, 'n', ${role}, 'secret-hash')`;
      people[tenant === "own" ? role : role === "admin" ? "foreignAdmin" : "foreignUser"] = { tenantId, userId, role };
    }
  }
  const { tenantId, userId } = people.user;
  const [sandbox] = await owner`insert into sandboxes (tenant_id, user_id, backend, isolation)
    values (${tenantId}, ${userId}, 'local', 'sandboxed') returning id`;
  const [session] = await owner`insert into sessions (tenant_id, user_id, sandbox_id, title)
    values (${tenantId}, ${userId}, ${sandbox?.id}, 'private thoughts') returning id`;
  const [turn] = await owner`insert into turns (tenant_id, user_id, session_id, position, prompt, idempotency_key)
    values (${tenantId}, ${userId}, ${session?.id}, 1, 'secret prompt', 'k') returning id`;
  await owner`insert into log_entries (tenant_id, user_id, session_id, turn_id, number, version, kind, body)
    values (${tenantId}, ${userId}, ${session?.id}, ${turn?.id}, 1, 1, 'text', '{}')`;
  await owner`insert into asks (tenant_id, user_id, session_id, kind, agent_request_id, body)
    values (${tenantId}, ${userId}, ${session?.id}, 'question', 'q', '{}')`;
  await owner`insert into tokens (tenant_id, user_id, type, hash) values (${tenantId}, ${userId}, 'user', 'h')`;
  await owner`insert into auth_sessions (tenant_id, user_id, expires_at) values (${tenantId}, ${userId}, now() + interval '1 day')`;
  await owner`insert into archives (tenant_id, user_id, sandbox_id, kind, store_key, lease_epoch, history_epoch)
    values (${tenantId}, ${userId}, ${sandbox?.id}, 'history', 'k', 0, 0)`;
  await owner`insert into operations (tenant_id, user_id, sandbox_id, verb, phase, lease_epoch, deadline_at)
    values (${tenantId}, ${userId}, ${sandbox?.id}, 'wake', 'starting-sandbox', 0, now())`;
  await owner`insert into providers (tenant_id, kind, name, base_url) values (${tenantId}, 'openai', 'o', 'u')`;
  await owner`insert into invites (tenant_id, role, token_hash, expires_at) values (${tenantId}, 'user', 'h', now())`;
  await owner`insert into audit (tenant_id, user_id, action) values (${tenantId}, ${userId}, 'x')`;
});
afterAll(async () => {
  await owner.end();
  await test[Symbol.asyncDispose]();
});

const count = (actor: TransactionActor, table: string) =>
  test.database.transaction(actor, async (tx) =>
    Number((await tx.execute(sql.raw(`select count(*) from ${table}`)))[0]?.count),
  );

const conversation = ["sessions", "turns", "log_entries", "asks", "tokens"];
const shown = ["sandboxes", "operations", "archives", "auth_sessions"];

describe("row-level security", () => {
  it("is on for every table (invariant 17)", async () => {
    const open = await owner`select relname from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and not relrowsecurity`;
    expect(open).toEqual([]);
  });

  it.each([...conversation, ...shown])("shows a person their own row of %s", async (table) => {
    expect(await count(people.user, table)).toBe(1);
  });

  it.each(conversation)("does not show %s to the tenant's admin", async (table) => {
    expect(await count(people.admin, table)).toBe(0);
  });

  it.each([...shown, "providers", "invites", "audit"])("shows %s to the tenant's admin", async (table) => {
    expect(await count(people.admin, table)).toBe(1);
  });

  it.each([...conversation, ...shown, "providers", "invites", "audit"])(
    "shows nothing of %s to another tenant or to nobody",
    async (table) => {
      for (const actor of [people.foreignAdmin, people.foreignUser, "nobody" as const]) {
        expect(await count(actor, table)).toBe(0);
      }
    },
  );

  it("lets a user read the providers but neither change them nor see invites and audit", async () => {
    expect(await count(people.user, "providers")).toBe(1);
    expect(await count(people.user, "invites")).toBe(0);
    expect(await count(people.user, "audit")).toBe(0);
    const changed = await test.database.transaction(people.user, (tx) =>
      tx.execute(sql`update providers set name = 'mine' returning id`),
    );
    expect(changed).toHaveLength(0);
  });

  it("refuses a row written in another's name", async () => {
    const { tenantId, userId } = people.foreignUser;
    const write = test.database.transaction(people.user, (tx) =>
      tx.execute(sql`insert into sessions (tenant_id, user_id) values (${tenantId}, ${userId})`),
    );
    await expect(write).rejects.toMatchObject({ cause: expect.objectContaining({ code: "42501" }) });
  });

  it("keeps password hashes and roles out of the application's reach", async () => {
    const reading = test.database.transaction(people.admin, (tx) => tx.execute(sql`select password_hash from users`));
    await expect(reading).rejects.toMatchObject({ cause: expect.objectContaining({ code: "42501" }) });
    const promoting = test.database.transaction(people.user, (tx) => tx.execute(sql`update users set role = 'admin'`));
    await expect(promoting).rejects.toMatchObject({ cause: expect.objectContaining({ code: "42501" }) });
    for (const table of ["sign_in_limits", "installation"]) {
      await expect(count(people.admin, table)).rejects.toMatchObject({
        cause: expect.objectContaining({ code: "42501" }),
      });
    }
  });

  it("does not leak one transaction's person into the next on the same connection", async () => {
    await test.database.transaction(people.user, (tx) => tx.execute(sql`select 1`));
    const settings = await Promise.all(
      Array.from({ length: 20 }, () =>
        test.database.transaction(
          "nobody",
          async (tx) => (await tx.execute(sql`select current_setting('dormouse.user_id', true) as id`))[0]?.id,
        ),
      ),
    );
    expect(new Set(settings)).toEqual(new Set([""]));
  });

  it("counts sessions without showing them: all of the own tenant for an admin, else one's own", async () => {
    const counts = (actor: Person) =>
      test.database.transaction(actor, (tx) => tx.execute(sql`select * from count_sessions()`));
    expect(await counts(people.admin)).toHaveLength(1);
    // Their own, of which there is one.
    expect(await counts(people.user)).toHaveLength(1);
    expect(await counts({ ...people.foreignAdmin, userId: randomUUID() })).toHaveLength(0);
  });
});
