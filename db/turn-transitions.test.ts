import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nextTurnStates, turnStates } from "../server/protocol/turn-states.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";

let database: TestDatabase;
let owner: postgres.Sql;
const ids = { tenant: randomUUID(), user: randomUUID(), session: randomUUID() };
beforeAll(async () => {
  database = await createTestDatabase();
  owner = postgres(database.ownerUrl, { onnotice: () => {}, max: 1 });
  const { tenant, user, session } = ids;
  await owner`insert into tenants (id, name) values (${tenant}, 'own')`;
  await owner`insert into users (id, tenant_id, email, name, role, password_hash)
    values (${user}, ${tenant}, 'ada@example.org', 'Ada', 'user', 'hash')`;
  await owner`insert into sessions (id, tenant_id, user_id) values (${session}, ${tenant}, ${user})`;
});
afterAll(async () => {
  await owner.end();
  await database[Symbol.asyncDispose]();
});

/** Null, or the code with which the database refuses. */
async function change(from: string, to: string): Promise<string | null> {
  const { tenant, user, session } = ids;
  const [turn] =
    await owner`insert into turns (tenant_id, user_id, session_id, state, position, prompt, idempotency_key)
    values (${tenant}, ${user}, ${session}, ${from}, 1, 'Hello', ${randomUUID()}) returning id`;
  try {
    await owner`update turns set state = ${to} where id = ${turn?.id}`;
    return null;
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    await owner`delete from turns where id = ${turn?.id}`;
  }
}

test.each(turnStates)(
  "the database lets a turn that is %s become what the table says, and nothing else",
  async (from) => {
    for (const to of turnStates) {
      const isAllowed = to === from || nextTurnStates[from].includes(to);
      expect(await change(from, to), `${from} to ${to}`).toBe(isAllowed ? null : "DM002");
    }
  },
);
