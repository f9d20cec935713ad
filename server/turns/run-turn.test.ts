import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { AppError } from "../errors.ts";
import type { Lifecycle } from "../lifecycle/index.ts";
import { createTestLog, watch } from "../sessions/test-log.ts";
import { createTurns } from "./create-turns.ts";

/** The real turns on a real database; nothing is ever awake. */
async function createSleepingTurns(ensureRunning: Lifecycle["ensureRunning"]) {
  const test_ = await createTestLog();
  const { database, log, viewer } = test_;
  const lifecycle = {
    ensureRunning,
    lookAhead: () => null,
    findRunning: () => null,
    isOwnLease: () => true,
    isReachable: () => true,
    turnEnded() {},
  } as unknown as Lifecycle;
  const archives = {
    openWorkspace: () => Promise.reject(new Error("Nothing is awake.")),
    whenReplaced: () => Promise.resolve(),
  };
  const costs = { costOf: async () => null };
  const turns = createTurns({ database, log, lifecycle, archives, costs, logger: { warn() {}, error() {} } });
  const [row] = await database.transaction(viewer, (tx) =>
    tx.execute<{ id: string }>(sql`
      insert into sessions (tenant_id, user_id) values (${viewer.tenantId}, ${viewer.userId}) returning id`),
  );
  const sessionId = String(row?.id);
  return {
    ...test_,
    turns,
    sessionId,
    async [Symbol.asyncDispose]() {
      await turns.close();
      await test_[Symbol.asyncDispose]();
    },
  };
}

test("a wake that fails with a conflict of its own ends the turn with that cause", async () => {
  await using server = await createSleepingTurns(() =>
    Promise.reject(new AppError("conflict", "This sandbox is just being reset.")),
  );
  const { turns, viewer, log, sessionId } = server;
  const { id: turnId } = await turns.start(viewer, { sessionId, prompt: "Hello", idempotencyKey: "key" });
  await watch({ log, viewer, sessionId, until: ({ entries }) => entries.some(({ kind }) => kind === "turn-end") });
  expect(await turns.find(viewer, { sessionId, turnId })).toMatchObject({
    state: "failed",
    failure: { code: "wake-failed", message: "This sandbox is just being reset." },
  });
});
