import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { operations, sessions } from "../../db/schema/index.ts";
import { AppError } from "../errors.ts";
import type { LifecycleVerb } from "../protocol/lifecycle-verbs.ts";
import type { RunningSandbox } from "./index.ts";
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
    const { sandboxId, sidecar, signal } = await test.wakeSession(server);
    const done = await test.over((await test.ask(server, sandboxId, "recover")).id);
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
        order.push(
          `forget ${files}: ${(await test.readSandbox(sandboxId))?.observedState}, ${await test.isRunning(server, sandboxId)}`,
        );
      },
    };
    server = await test.startServer({ lifecycle: { archives } });
    const { sandboxId, sessionId } = await test.wakeSession(server);
    await test.database.transaction(test.actor, (tx) =>
      tx.update(sessions).set({ agentSessionId: "ses_1", lastNumber: 4, version: 9 }).where(eq(sessions.id, sessionId)),
    );
    expect(await test.over((await test.ask(server, sandboxId, "reset")).id)).toMatchObject({
      state: "succeeded",
      phase: "terminated",
    });
    expect(order).toEqual(["archive workspace: epoch 1", "forget false: running, true"]);
    expect(await test.isRunning(server, sandboxId)).toBe(false);
    expect(await test.readSandbox(sandboxId)).toMatchObject({
      observedState: "terminated",
      historyEpoch: 1,
      filesEpoch: 0,
    });
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
    const { sandboxId, sessionId } = await test.wakeSession(server);
    const done = await test.over((await test.ask(server, sandboxId, "reset")).id);
    expect(done).toMatchObject({ state: "failed", phase: "deleting", cause: "The file store cannot be reached." });
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "running", historyEpoch: 1 });
    expect(await test.isRunning(server, sandboxId)).toBe(true);
    expect((await ensure(server, { actor: test.actor, sessionId })).phases).toEqual([]);
  });

  it("of a sandbox that does not exist any more removes what it can, and succeeds", async () => {
    const archives: SandboxArchives = {
      ...noArchives,
      forget: () => Promise.reject(new AppError("unavailable", "The file store cannot be reached.")),
    };
    server = await test.startServer();
    const { sandboxId } = await test.wakeSession(server);
    await test.over((await test.ask(server, sandboxId, "reset")).id);
    await server.close({ terminate: true });
    server = await test.startServer({ lifecycle: { archives } });
    expect(await test.over((await test.ask(server, sandboxId, "reset")).id)).toMatchObject({ state: "succeeded" });
  });
});

describe("an operation whose server died", () => {
  /** As a server leaves it that is killed at that moment. */
  async function leave(verb: LifecycleVerb, phase: string, before = async (_mine: RunningSandbox) => {}) {
    const gone = await test.startServer();
    const mine = await test.wakeSession(gone);
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
    expect((await test.listOperations(sandboxId))[0]).toMatchObject({ verb: "sleep", state: "succeeded" });
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "sleeping" });
    expect(await test.isRunning(server, sandboxId)).toBe(false);
  });

  it("has failed where it was not, and the sandbox works on", async () => {
    const freeze = async ({ sidecar }: RunningSandbox) => void (await sidecar.quiesce(AbortSignal.timeout(5_000)));
    const { sandboxId } = await leave("sleep", "archiving", freeze);
    expect(await server.lifecycle.adopt(AbortSignal.timeout(20_000))).toHaveLength(1);
    expect((await test.listOperations(sandboxId))[0]).toMatchObject({
      verb: "sleep",
      state: "failed",
      cause: "The server that ran it stopped.",
    });
    const adopted = server.lifecycle.findRunning(sandboxId);
    expect(await adopted?.sidecar.resume(AbortSignal.timeout(5_000))).toEqual({ resumed: false });
  });

  it("is done again where it was a reset", async () => {
    const { sandboxId } = await leave("reset", "deleting");
    expect(await server.lifecycle.adopt(AbortSignal.timeout(20_000))).toEqual([]);
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "terminated", historyEpoch: 1 });
    expect(await test.isRunning(server, sandboxId)).toBe(false);
  });
});
