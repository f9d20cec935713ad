import { setTimeout as sleep } from "node:timers/promises";
import { desc, eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { operations, sandboxes, sessions, turns } from "../../db/schema/index.ts";
import { AppError } from "../errors.ts";
import type { LifecycleVerb } from "../protocol/lifecycle-verbs.ts";
import type { RunningSandbox } from "./index.ts";
import type { SandboxArchives } from "./lifecycle-context.ts";
import { noArchives } from "./test/test-composition.ts";
import { createLifecycleTest, ensure, type LifecycleTest, type TestServer } from "./test/test-lifecycle.ts";

// Each test wakes a sandbox.
vi.setConfig({ testTimeout: 120_000 });

let test: LifecycleTest;
let server: TestServer;

beforeAll(async () => {
  test = await createLifecycleTest();
});
afterEach(async () => {
  await server?.close({ terminate: true });
  // All tests have the same person's sandbox.
  const asNew = { unsavedSince: null, noSleepBefore: null, historyEpoch: 0, filesEpoch: 0 };
  await test.database.transaction(test.actor, async (tx) => {
    await tx.update(sandboxes).set(asNew);
    await tx.delete(operations);
  });
});
afterAll(() => test.dispose());

async function wakeSession(on: TestServer = server) {
  const sessionId = await test.createSession();
  return { sessionId, ...(await ensure(on, { actor: test.actor, sessionId })) };
}

const ask = (sandboxId: string, verb: LifecycleVerb, on: TestServer = server) =>
  on.lifecycle.request(test.actor, { sandboxId, verb });

const listOperations = (sandboxId: string) =>
  test.database.transaction(test.actor, (tx) =>
    tx.select().from(operations).where(eq(operations.sandboxId, sandboxId)).orderBy(desc(operations.requestedAt)),
  );

/** The operation once it is over. */
async function over(id: string) {
  const read = async () => {
    const [row] = await test.database.transaction(test.actor, (tx) =>
      tx.select().from(operations).where(eq(operations.id, id)),
    );
    return row;
  };
  await expect.poll(async () => (await read())?.endedAt, { timeout: 60_000 }).toBeInstanceOf(Date);
  return read();
}

const startTurn = (sessionId: string, state: "queued" | "running" = "running") =>
  test.database.transaction(test.actor, async (tx) => {
    const { tenantId, userId } = test.actor;
    const values = { tenantId, userId, sessionId, state, prompt: "x", idempotencyKey: crypto.randomUUID() };
    const [row] = await tx
      .insert(turns)
      .values({ ...values, position: 1 })
      .returning();
    return row?.id ?? "";
  });

const endTurn = (id: string) =>
  test.database.transaction(test.actor, async (tx) => {
    await tx.update(turns).set({ state: "finished", endedAt: new Date() }).where(eq(turns.id, id));
  });

/** Archives that are made when the test lets them. */
function heldArchives() {
  const asked = Promise.withResolvers<void>();
  const made = Promise.withResolvers<{ failures: { savedAt: Date; cause: string }[] }>();
  const archives: SandboxArchives = {
    ...noArchives,
    async archiveSandbox(_sandbox, { signal }) {
      asked.resolve();
      signal.addEventListener("abort", () => made.reject(signal.reason), { once: true });
      return made.promise;
    },
  };
  return { archives, asked: asked.promise, make: () => made.resolve({ failures: [] }) };
}

const isRunning = async (sandboxId: string) =>
  (await server.backend.list(AbortSignal.timeout(5_000))).find((listed) => listed.sandboxId === sandboxId)?.running;

describe("a sleep that is asked for", () => {
  it("ends the sandbox once it is archived, and the next message wakes it", async () => {
    server = await test.startServer();
    const { sandboxId, sessionId, sidecar } = await wakeSession();
    const asked = await ask(sandboxId, "sleep");
    expect(asked).toMatchObject({ verb: "sleep", state: "requested", requestedBy: test.actor.userId, reason: "asked" });
    const done = await over(asked.id);
    expect(done).toMatchObject({ state: "succeeded", phase: "sleeping" });
    expect(done?.phases.map(({ phase }) => phase)).toEqual(["quiescing", "archiving", "terminating", "sleeping"]);
    expect(await test.readSandbox(sandboxId)).toMatchObject({
      observedState: "sleeping",
      wantedState: "sleeping",
      leaseOwner: null,
    });
    expect(await isRunning(sandboxId)).toBe(false);
    const again = await ensure(server, { actor: test.actor, sessionId });
    expect(again.sidecar.bootId).not.toBe(sidecar.bootId);
  });

  it("is called off by a message, which finds the agent as it was", async () => {
    const { archives, asked } = heldArchives();
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sessionId, sidecar } = await wakeSession();
    const operation = await ask(sandboxId, "sleep");
    await asked;
    const again = await ensure(server, { actor: test.actor, sessionId });
    expect(again.sidecar.bootId).toBe(sidecar.bootId);
    expect(again.phases).toEqual([]);
    expect(await over(operation.id)).toMatchObject({ state: "cancelled", cause: "A message came in." });
    expect(await sidecar.health(AbortSignal.timeout(5_000))).toMatchObject({ agent: { state: "running", life: 1 } });
    expect(await sidecar.resume(AbortSignal.timeout(5_000))).toEqual({ resumed: false });
  });

  it("is given up when a turn has come in by the time of the decision", async () => {
    const { archives, asked, make } = heldArchives();
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sessionId } = await wakeSession();
    const operation = await ask(sandboxId, "sleep");
    await asked;
    const turn = await startTurn(sessionId, "queued");
    make();
    expect(await over(operation.id)).toMatchObject({
      state: "cancelled",
      cause: "A message is waiting for the agent.",
    });
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "running", wantedState: "running" });
    await test.database.transaction(test.actor, (tx) => tx.delete(turns).where(eq(turns.id, turn)));
  });

  it("leaves a healthy sandbox awake when it cannot be archived, says why, and pauses longer each time", async () => {
    const archives: SandboxArchives = {
      ...noArchives,
      archiveSandbox: async () => ({ failures: [{ savedAt: new Date(0), cause: "The file store is full." }] }),
    };
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sidecar } = await wakeSession();
    const pauses: number[] = [];
    for (let tries = 0; tries < 2; tries += 1) {
      const operation = await over((await ask(sandboxId, "sleep")).id);
      expect(operation).toMatchObject({ state: "failed", cause: expect.stringContaining("The file store is full.") });
      // Written after the operation's end.
      await expect
        .poll(async () => (await test.readSandbox(sandboxId))?.noSleepBefore?.getTime() ?? 0)
        .toBeGreaterThan((pauses.at(-1) ?? 0) + Date.now());
      pauses.push(((await test.readSandbox(sandboxId))?.noSleepBefore?.getTime() ?? 0) - Date.now());
    }
    expect(await sidecar.resume(AbortSignal.timeout(5_000))).toEqual({ resumed: false });
    expect(server.lifecycle.findRunning(sandboxId)?.sidecar.bootId).toBe(sidecar.bootId);
  });

  it("is refused while the agent works, and for a sandbox that is not awake", async () => {
    server = await test.startServer();
    const { sandboxId, sessionId } = await wakeSession();
    const turn = await startTurn(sessionId);
    await expect(ask(sandboxId, "sleep")).rejects.toMatchObject({
      kind: "conflict",
      message: "The agent is working. Stop it first, or wait until it is done.",
    });
    await endTurn(turn);
    await over((await ask(sandboxId, "sleep")).id);
    await expect(ask(sandboxId, "sleep")).rejects.toMatchObject({ kind: "conflict" });
    await expect(ask(crypto.randomUUID(), "sleep")).rejects.toMatchObject({ kind: "not-found" });
  });

  it("is asked for by itself of what nobody used for long enough, and of nothing else", async () => {
    server = await test.startServer({
      lifecycle: { deadlines: { idleEveryMilliseconds: 100, requestsEveryMilliseconds: 100 } },
    });
    const { sandboxId, sessionId } = await wakeSession();
    const set = (changes: Partial<typeof sandboxes.$inferInsert>) =>
      test.database.transaction(test.actor, async (tx) => {
        await tx.update(sandboxes).set(changes).where(eq(sandboxes.id, sandboxId));
      });
    const countAfterLook = async () => {
      await test.database.transaction("nobody", (tx) =>
        tx.execute(sql`select * from request_idle_sleeps(50, interval '1 minute')`),
      );
      return (await listOperations(sandboxId)).filter(({ verb }) => verb === "sleep").length;
    };
    const longAgo = new Date(Date.now() - 61 * 60_000);
    expect(await countAfterLook()).toBe(0);
    await set({ lastActiveAt: longAgo, keepAwakeUntil: new Date(Date.now() + 60_000) });
    expect(await countAfterLook()).toBe(0);
    await set({ keepAwakeUntil: null, idleMinutes: 0 });
    expect(await countAfterLook()).toBe(0);
    await set({ idleMinutes: 120 });
    expect(await countAfterLook()).toBe(0);
    await set({ idleMinutes: null, noSleepBefore: new Date(Date.now() + 60_000) });
    expect(await countAfterLook()).toBe(0);
    const turn = await startTurn(sessionId);
    await set({ noSleepBefore: null });
    expect(await countAfterLook()).toBe(0);
    await endTurn(turn);
    await server.lifecycle.adopt(AbortSignal.timeout(10_000));
    await expect
      .poll(() => test.readSandbox(sandboxId), { timeout: 20_000 })
      .toMatchObject({ observedState: "sleeping" });
    const [operation] = await listOperations(sandboxId);
    expect(operation).toMatchObject({ verb: "sleep", reason: "idle", requestedBy: null, state: "succeeded" });
  });
});

describe("what is asked for", () => {
  it("joins the same, is refused beside another, and calls off a sleep that is not decided", async () => {
    const { archives, asked } = heldArchives();
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sidecar } = await wakeSession();
    const first = await ask(sandboxId, "sleep");
    expect((await ask(sandboxId, "sleep")).id).toBe(first.id);
    await expect(ask(sandboxId, "restart-agent")).rejects.toMatchObject({
      kind: "conflict",
      message: "This sandbox is going to sleep. Try again when that is done.",
    });
    await asked;
    const wake = await ask(sandboxId, "wake");
    expect(await over(first.id)).toMatchObject({ state: "cancelled", cause: "Somebody asked for it to wake up." });
    expect(await over(wake.id)).toMatchObject({ state: "succeeded" });
    expect(await sidecar.health(AbortSignal.timeout(5_000))).toMatchObject({ agent: { state: "running", life: 1 } });
    expect(await sidecar.resume(AbortSignal.timeout(5_000))).toEqual({ resumed: false });
  });

  it("is done by the holder, whichever server heard it", async () => {
    server = await test.startServer();
    const other = await test.startServer({ lifecycle: { homeId: "elsewhere" } });
    const { sandboxId, sidecar } = await wakeSession();
    expect(await over((await ask(sandboxId, "restart-agent", other)).id)).toMatchObject({ state: "succeeded" });
    expect(await sidecar.health(AbortSignal.timeout(5_000))).toMatchObject({ agent: { life: 2 } });
    expect(await over((await ask(sandboxId, "sleep", other)).id)).toMatchObject({ state: "succeeded" });
    expect(await over((await ask(sandboxId, "wake", other)).id)).toMatchObject({ state: "succeeded" });
    const holders = [server, other].filter(({ lifecycle }) => lifecycle.findRunning(sandboxId));
    expect(holders).toHaveLength(1);
    await other.close({ terminate: true });
  });

  it("fails when nobody takes it up in time", async () => {
    server = await test.startServer();
    const { sandboxId } = await wakeSession();
    await server.close({ terminate: true });
    // It cannot reach what is in the home of the first one.
    server = await test.startServer({ lifecycle: { home: { id: "another", machine: "elsewhere" } } });
    const { id } = await ask(sandboxId, "wake");
    await test.database.transaction(test.actor, async (tx) => {
      await tx.update(operations).set({ deadlineAt: new Date(0) }).where(eq(operations.id, id));
      await tx.execute(sql`select * from list_requested_operations()`);
    });
    expect(await over(id)).toMatchObject({ state: "failed", cause: "No server took this up in time. Try again." });
  });
});

describe("recovering", () => {
  it("archives what it can, ends the sandbox and starts another", async () => {
    let archived = 0;
    const archives: SandboxArchives = {
      ...noArchives,
      async archiveSandbox() {
        archived += 1;
        throw new AppError("unavailable", "The file store cannot be reached.");
      },
    };
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sidecar, signal } = await wakeSession();
    const done = await over((await ask(sandboxId, "recover")).id);
    expect(done).toMatchObject({ state: "succeeded", phase: "running" });
    expect(archived).toBe(1);
    expect(signal.aborted).toBe(true);
    const now = server.lifecycle.findRunning(sandboxId);
    expect(now?.sidecar.bootId).not.toBe(sidecar.bootId);
    expect(await now?.sidecar.health(AbortSignal.timeout(5_000))).toMatchObject({ agent: { state: "running" } });
  });
});

describe("a reset", () => {
  it("forgets first, then deletes, then ends the sandbox; the transcript stays, with a boundary", async () => {
    const order: string[] = [];
    const archives: SandboxArchives = {
      ...noArchives,
      async archiveSandbox(sandbox, { only }) {
        order.push(`archive ${only}: epoch ${(await test.readSandbox(sandbox.sandboxId))?.historyEpoch}`);
        return { failures: [] };
      },
      async forget({ sandboxId, files }) {
        order.push(`forget ${files}: ${(await test.readSandbox(sandboxId))?.observedState}, ${await isRunning(sandboxId)}`);
      },
    };
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sessionId } = await wakeSession();
    await test.database.transaction(test.actor, (tx) =>
      tx.update(sessions).set({ agentSessionId: "ses_1", lastNumber: 4, version: 9 }).where(eq(sessions.id, sessionId)),
    );
    expect(await over((await ask(sandboxId, "reset")).id)).toMatchObject({ state: "succeeded", phase: "terminated" });
    expect(order).toEqual(["archive workspace: epoch 1", "forget false: running, true"]);
    expect(await isRunning(sandboxId)).toBe(false);
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "terminated", historyEpoch: 1, filesEpoch: 0 });
    const [session] = await test.database.transaction(test.actor, (tx) =>
      tx.select().from(sessions).where(eq(sessions.id, sessionId)),
    );
    expect(session).toMatchObject({ agentSessionId: null, memoryStatus: "fresh", lastNumber: 5, version: 10 });
    const again = await ensure(server, { actor: test.actor, sessionId });
    expect(again.phases.at(-1)).toBe("running");
  });

  it("fails when the durable memory cannot be removed, and the sandbox stays as it was", async () => {
    const archives: SandboxArchives = {
      ...noArchives,
      forget: () => Promise.reject(new AppError("unavailable", "The file store cannot be reached.")),
    };
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sessionId } = await wakeSession();
    const done = await over((await ask(sandboxId, "reset")).id);
    expect(done).toMatchObject({ state: "failed", phase: "deleting", cause: "The file store cannot be reached." });
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "running", historyEpoch: 1 });
    expect(await isRunning(sandboxId)).toBe(true);
    expect((await ensure(server, { actor: test.actor, sessionId })).phases).toEqual([]);
  });

  it("of a sandbox that does not exist any more removes what it can, and succeeds", async () => {
    const archives: SandboxArchives = {
      ...noArchives,
      forget: () => Promise.reject(new AppError("unavailable", "The file store cannot be reached.")),
    };
    server = await test.startServer();
    const { sandboxId } = await wakeSession();
    await over((await ask(sandboxId, "reset")).id);
    await server.close({ terminate: true });
    server = await test.startServer({ lifecycle: { archives } });
    expect(await over((await ask(sandboxId, "reset")).id)).toMatchObject({ state: "succeeded" });
  });
});

describe("an operation whose server died", () => {
  /** As a server leaves it that is killed at that moment. */
  async function leave(verb: LifecycleVerb, phase: string, before = async (_mine: RunningSandbox) => {}) {
    const gone = await test.startServer();
    const mine = await wakeSession(gone);
    await before(mine);
    await gone.close({ terminate: false });
    await test.database.transaction(test.actor, async (tx) => {
      const { tenantId, userId } = test.actor;
      await tx.insert(operations).values({
        tenantId,
        userId,
        sandboxId: mine.sandboxId,
        verb,
        phase: phase as (typeof operations.$inferInsert)["phase"],
        leaseEpoch: mine.leaseEpoch,
        deadlineAt: new Date(Date.now() + 60_000),
      });
    });
    server = await test.startServer();
    return mine;
  }

  it("is finished where a sleep was decided", async () => {
    const { sandboxId } = await leave("sleep", "terminating");
    expect(await server.lifecycle.adopt(AbortSignal.timeout(20_000))).toEqual([]);
    expect((await listOperations(sandboxId))[0]).toMatchObject({ verb: "sleep", state: "succeeded" });
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "sleeping" });
    expect(await isRunning(sandboxId)).toBe(false);
  });

  it("has failed where it was not, and the sandbox works on", async () => {
    const freeze = async ({ sidecar }: RunningSandbox) => void (await sidecar.quiesce(AbortSignal.timeout(5_000)));
    const { sandboxId } = await leave("sleep", "archiving", freeze);
    expect(await server.lifecycle.adopt(AbortSignal.timeout(20_000))).toHaveLength(1);
    expect((await listOperations(sandboxId))[0]).toMatchObject({
      verb: "sleep",
      state: "failed",
      cause: "The server that ran it ended.",
    });
    const adopted = server.lifecycle.findRunning(sandboxId);
    expect(await adopted?.sidecar.resume(AbortSignal.timeout(5_000))).toEqual({ resumed: false });
  });

  it("is done again where it was a reset", async () => {
    const { sandboxId } = await leave("reset", "deleting");
    expect(await server.lifecycle.adopt(AbortSignal.timeout(20_000))).toEqual([]);
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "terminated", historyEpoch: 1 });
    expect(await isRunning(sandboxId)).toBe(false);
  });
});

it("waits for nobody and keeps what is on the disk when the server stops", async () => {
  const archives: SandboxArchives = {
    ...noArchives,
    archiveSandbox: (_sandbox, { signal }) => sleep(60_000, { failures: [] }, { signal }),
    savedUntil: async () => new Date(1_000),
  };
  server = await test.startServer({
    lifecycle: { archives, deadlines: { stopArchiveMilliseconds: 300 } },
  });
  const { sandboxId } = await wakeSession();
  await server.close({ terminate: true });
  expect(await test.readSandbox(sandboxId)).toMatchObject({
    observedState: "sleeping",
    unsavedSince: new Date(1_000),
    leaseOwner: null,
  });
});
