import { setTimeout as sleep } from "node:timers/promises";
import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { operations, sandboxes, turns } from "../../db/schema/index.ts";
import type { SandboxArchives } from "./lifecycle-context.ts";
import { noArchives } from "./test/test-composition.ts";
import { ensure, type TestServer } from "./test/test-lifecycle.ts";
import { createOperationsTest, type OperationsTest } from "./test/test-operations.ts";

// Each test wakes a sandbox.
vi.setConfig({ testTimeout: 120_000 });

let test: OperationsTest;
let server: TestServer;

beforeAll(async () => {
  test = await createOperationsTest();
});
afterEach(async () => {
  await server?.close({ terminate: true });
  await test.forgetAll();
});
afterAll(() => test.dispose());

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

describe("a sleep that is asked for", () => {
  it("ends the sandbox once it is archived, and the next message wakes it", async () => {
    server = await test.startServer();
    const { sandboxId, sessionId, sidecar } = await test.wakeSession(server);
    const asked = await test.ask(server, sandboxId, "sleep");
    expect(asked).toMatchObject({ verb: "sleep", state: "requested", requestedBy: test.actor.userId, reason: "asked" });
    const done = await test.over(asked.id);
    expect(done).toMatchObject({ state: "succeeded", phase: "sleeping" });
    expect(done?.phases.map(({ phase }) => phase)).toEqual(["quiescing", "archiving", "terminating", "sleeping"]);
    expect(await test.readSandbox(sandboxId)).toMatchObject({
      observedState: "sleeping",
      wantedState: "sleeping",
      leaseOwner: null,
    });
    expect(await test.isRunning(server, sandboxId)).toBe(false);
    const again = await ensure(server, { actor: test.actor, sessionId });
    expect(again.sidecar.bootId).not.toBe(sidecar.bootId);
  });

  it("is called off by a message, which finds the agent as it was", async () => {
    const { archives, asked } = heldArchives();
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sessionId, sidecar } = await test.wakeSession(server);
    const operation = await test.ask(server, sandboxId, "sleep");
    await asked;
    const again = await ensure(server, { actor: test.actor, sessionId });
    expect(again.sidecar.bootId).toBe(sidecar.bootId);
    expect(again.phases).toEqual([]);
    expect(await test.over(operation.id)).toMatchObject({ state: "cancelled", cause: "A message came in." });
    expect(await sidecar.health(AbortSignal.timeout(5_000))).toMatchObject({ agent: { state: "running", life: 1 } });
    expect(await sidecar.resume(AbortSignal.timeout(5_000))).toEqual({ resumed: false });
  });

  it("is given up when a turn has come in by the time of the decision", async () => {
    const { archives, asked, make } = heldArchives();
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sessionId } = await test.wakeSession(server);
    const operation = await test.ask(server, sandboxId, "sleep");
    await asked;
    const turn = await test.startTurn(sessionId, "queued");
    make();
    expect(await test.over(operation.id)).toMatchObject({
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
    const { sandboxId, sidecar } = await test.wakeSession(server);
    const pauses: number[] = [];
    for (let tries = 0; tries < 2; tries += 1) {
      const operation = await test.over((await test.ask(server, sandboxId, "sleep")).id);
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
    const { sandboxId, sessionId } = await test.wakeSession(server);
    const turn = await test.startTurn(sessionId);
    await expect(test.ask(server, sandboxId, "sleep")).rejects.toMatchObject({
      kind: "conflict",
      message: "The agent is working. Stop it first, or wait until it is done.",
    });
    await test.endTurn(turn);
    await test.over((await test.ask(server, sandboxId, "sleep")).id);
    await expect(test.ask(server, sandboxId, "sleep")).rejects.toMatchObject({ kind: "conflict" });
    await expect(test.ask(server, crypto.randomUUID(), "sleep")).rejects.toMatchObject({ kind: "not-found" });
  });

  it("is asked for by itself of what nobody used for long enough, and of nothing else", async () => {
    server = await test.startServer({
      lifecycle: { deadlines: { idleEveryMilliseconds: 100, requestsEveryMilliseconds: 100 } },
    });
    const { sandboxId, sessionId } = await test.wakeSession(server);
    const set = (changes: Partial<typeof sandboxes.$inferInsert>) =>
      test.database.transaction(test.actor, async (tx) => {
        await tx.update(sandboxes).set(changes).where(eq(sandboxes.id, sandboxId));
      });
    const countAfterLook = async () => {
      await test.database.transaction("nobody", (tx) =>
        tx.execute(sql`select * from request_idle_sleeps(50, interval '1 minute')`),
      );
      return (await test.listOperations(sandboxId)).filter(({ verb }) => verb === "sleep").length;
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
    const turn = await test.startTurn(sessionId);
    await set({ noSleepBefore: null });
    expect(await countAfterLook()).toBe(0);
    await test.endTurn(turn);
    await server.lifecycle.adopt(AbortSignal.timeout(10_000));
    await expect
      .poll(() => test.readSandbox(sandboxId), { timeout: 20_000 })
      .toMatchObject({ observedState: "sleeping" });
    const [operation] = await test.listOperations(sandboxId);
    expect(operation).toMatchObject({ verb: "sleep", reason: "idle", requestedBy: null, state: "succeeded" });
  });
});

describe("what is asked for", () => {
  it("joins the same, is refused beside another, and calls off a sleep that is not decided", async () => {
    const { archives, asked } = heldArchives();
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sidecar } = await test.wakeSession(server);
    const first = await test.ask(server, sandboxId, "sleep");
    expect((await test.ask(server, sandboxId, "sleep")).id).toBe(first.id);
    await expect(test.ask(server, sandboxId, "restart-agent")).rejects.toMatchObject({
      kind: "conflict",
      message: "This sandbox is going to sleep. Try again when that is done.",
    });
    await asked;
    const wake = await test.ask(server, sandboxId, "wake");
    expect(await test.over(first.id)).toMatchObject({ state: "cancelled", cause: "Somebody asked for it to wake up." });
    expect(await test.over(wake.id)).toMatchObject({ state: "succeeded" });
    expect(await sidecar.health(AbortSignal.timeout(5_000))).toMatchObject({ agent: { state: "running", life: 1 } });
    expect(await sidecar.resume(AbortSignal.timeout(5_000))).toEqual({ resumed: false });
  });

  it("is done by the holder, whichever server heard it", async () => {
    server = await test.startServer();
    const other = await test.startServer({ lifecycle: { homeId: "elsewhere" } });
    const { sandboxId, sidecar } = await test.wakeSession(server);
    expect(await test.over((await test.ask(other, sandboxId, "restart-agent")).id)).toMatchObject({
      state: "succeeded",
    });
    expect(await sidecar.health(AbortSignal.timeout(5_000))).toMatchObject({ agent: { life: 2 } });
    expect(await test.over((await test.ask(other, sandboxId, "sleep")).id)).toMatchObject({ state: "succeeded" });
    expect(await test.over((await test.ask(other, sandboxId, "wake")).id)).toMatchObject({ state: "succeeded" });
    const holders = [server, other].filter(({ lifecycle }) => lifecycle.findRunning(sandboxId));
    expect(holders).toHaveLength(1);
    await other.close({ terminate: true });
  });

  it("fails when nobody takes it up in time", async () => {
    server = await test.startServer();
    const { sandboxId } = await test.wakeSession(server);
    await server.close({ terminate: true });
    // It cannot reach what is in the home of the first one.
    server = await test.startServer({ lifecycle: { home: { id: "another", machine: "elsewhere" } } });
    const { id } = await test.ask(server, sandboxId, "wake");
    await test.database.transaction(test.actor, async (tx) => {
      await tx
        .update(operations)
        .set({ deadlineAt: new Date(0) })
        .where(eq(operations.id, id));
      await tx.execute(sql`select * from list_requested_operations()`);
    });
    expect(await test.over(id)).toMatchObject({ state: "failed", cause: "No server took this up in time. Try again." });
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
  const { sandboxId } = await test.wakeSession(server);
  await server.close({ terminate: true });
  expect(await test.readSandbox(sandboxId)).toMatchObject({
    observedState: "sleeping",
    unsavedSince: new Date(1_000),
    leaseOwner: null,
  });
});
