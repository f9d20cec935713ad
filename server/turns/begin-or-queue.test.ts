import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTurn } from "../../db/queries/start-turn.ts";
import { shown } from "../sessions/test-log.ts";
import { createTestServer, ended, ends, type TestServer } from "./test-turns.ts";

let server: TestServer;
beforeAll(async () => {
  server = await createTestServer();
}, 120_000);
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 90_000 };

/** A session whose first turn is over, in a sandbox that runs. */
async function quietSession(): Promise<string> {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "Hello");
  await server.follow(sessionId, ended());
  return sessionId;
}

const begin = (sessionId: string, prompt: string) =>
  server.services.turns.start(server.viewer, { sessionId, prompt, idempotencyKey: randomUUID() });

test("a prompt to a quiet session begins with the write that stores it, seen once by all", patience, async () => {
  const sessionId = await quietSession();
  const stayed = server.follow(sessionId, ended(2));
  // The runner of the first turn looks for a next one before it goes.
  await expect
    .poll(
      async () => {
        const turn = await begin(sessionId, "think about dormice");
        const state = turn.state;
        await server.follow(sessionId, (now) => ends(now).some(({ turnId }) => turnId === turn.id));
        return state;
      },
      { timeout: 30_000 },
    )
    .toBe("running");
  const { turns } = await server.services.turns.list(server.viewer, sessionId);
  const all = await server.follow(sessionId, ended(turns.length));
  expect(all.entries.filter(({ kind }) => kind === "prompt").map(({ turnId }) => turnId)).toEqual(
    turns.map(({ id }) => id),
  );
  expect(shown(await server.follow(sessionId, ended(turns.length), await stayed))).toEqual(shown(all));
});

test("a prompt behind another one waits", patience, async () => {
  const sessionId = await quietSession();
  const [first, second] = await Promise.all([begin(sessionId, "Hello again"), begin(sessionId, "And again")]);
  expect([first.state, second.state]).toContain("queued");
  const state = await server.follow(sessionId, ended(3));
  expect(ends(state).map(({ body }) => body)).toEqual(Array(3).fill({ outcome: "finished" }));
});

test("under a lease that was taken over nothing begins, and nobody else's session is touched", patience, async () => {
  const sessionId = await quietSession();
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.execute<{ id: string; epoch: string; boot: string }>(sql`
      select b.id, b.lease_epoch as epoch, b.boot_id as boot
      from sandboxes b join sessions s on s.sandbox_id = b.id where s.id = ${sessionId}`),
  );
  if (!row) throw new Error("No sandbox runs.");
  const leaseEpoch = Number(row.epoch) - 1;
  const ahead = { sandboxId: row.id, leaseEpoch, messageId: "msg_1", appliedEvent: 1, bootId: row.boot };
  const { tenantId, userId } = server.viewer;
  const start = { tenantId, userId, sessionId, prompt: "Hello", idempotencyKey: randomUUID(), ahead, origin: "test" };
  expect(await startTurn(server.database, start)).toMatchObject({ turn: { state: "queued" }, begun: null });
  expect(await startTurn(server.database, { ...start, userId: randomUUID() })).toBeNull();
});
