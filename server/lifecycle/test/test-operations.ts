import { desc, eq } from "drizzle-orm";
import { expect } from "vitest";
import { operations, sandboxes, turns } from "../../../db/schema/index.ts";
import type { LifecycleVerb } from "../../protocol/lifecycle-verbs.ts";
import { createLifecycleTest, ensure, type TestServer } from "./test-lifecycle.ts";

/** One person's sandbox, what is asked for of it, and what becomes of that. */
export async function createOperationsTest() {
  const test = await createLifecycleTest();
  const { actor, database } = test;

  async function readOperation(id: string) {
    const [row] = await database.transaction(actor, (tx) => tx.select().from(operations).where(eq(operations.id, id)));
    return row;
  }

  return {
    ...test,
    async wakeSession(on: TestServer) {
      const sessionId = await test.createSession();
      return { sessionId, ...(await ensure(on, { actor, sessionId })) };
    },
    ask: (on: TestServer, sandboxId: string, verb: LifecycleVerb) => on.lifecycle.request(actor, { sandboxId, verb }),
    /** Newest first. */
    listOperations: (sandboxId: string) =>
      database.transaction(actor, (tx) =>
        tx.select().from(operations).where(eq(operations.sandboxId, sandboxId)).orderBy(desc(operations.requestedAt)),
      ),
    /** The operation once it is over. */
    async over(id: string) {
      await expect.poll(async () => (await readOperation(id))?.endedAt, { timeout: 60_000 }).toBeInstanceOf(Date);
      return readOperation(id);
    },
    async isRunning(on: TestServer, sandboxId: string) {
      const listed = await on.backend.list(AbortSignal.timeout(5_000));
      return listed.find((sandbox) => sandbox.sandboxId === sandboxId)?.running;
    },
    startTurn: (sessionId: string, state: "queued" | "running" = "running") =>
      database.transaction(actor, async (tx) => {
        const { tenantId, userId } = actor;
        const values = { tenantId, userId, sessionId, state, prompt: "x", idempotencyKey: crypto.randomUUID() };
        const [row] = await tx
          .insert(turns)
          .values({ ...values, position: 1 })
          .returning();
        return row?.id ?? "";
      }),
    endTurn: (id: string) =>
      database.transaction(actor, async (tx) => {
        await tx.update(turns).set({ state: "finished", endedAt: new Date() }).where(eq(turns.id, id));
      }),
    /** All tests have the same person's sandbox. */
    async forgetAll() {
      const asNew = { unsavedSince: null, noSleepBefore: null, historyEpoch: 0, filesEpoch: 0 };
      await database.transaction(actor, async (tx) => {
        await tx.update(sandboxes).set(asNew);
        await tx.delete(operations);
      });
    },
  };
}

export type OperationsTest = Awaited<ReturnType<typeof createOperationsTest>>;
