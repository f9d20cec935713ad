import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { sandboxes } from "../../db/schema/index.ts";
import { createTestHome } from "../sandboxes/backends/local/test/test-backend.ts";
import { compose } from "./test/test-composition.ts";
import { createLifecycleTest, ensure, type LifecycleTest, type TestServer } from "./test/test-lifecycle.ts";

// Each test wakes the real agent.
vi.setConfig({ testTimeout: 120_000 });

let test: LifecycleTest;
let server: TestServer;

beforeAll(async () => {
  test = await createLifecycleTest();
});
afterEach(async () => {
  await server?.close({ terminate: true });
});
afterAll(() => test.dispose());

async function wakeSession(on: TestServer = server) {
  const sessionId = await test.createSession();
  return { sessionId, ...(await ensure(on, { actor: test.actor, sessionId })) };
}

async function lapse(sandboxId: string): Promise<void> {
  const leaseExpiresAt = sql`now() - interval '1 second'`;
  await test.database.transaction(test.actor, (tx) =>
    tx.update(sandboxes).set({ leaseExpiresAt }).where(eq(sandboxes.id, sandboxId)),
  );
}

describe("a server that stays", () => {
  it("takes over the sandbox of one that is gone once its lease has lapsed, and the gone one writes nothing", async () => {
    const gone = await test.startServer({ lifecycle: { deadlines: { renewEveryMilliseconds: 3_600_000 } } });
    const mine = await wakeSession(gone);
    server = await test.startServer({
      lifecycle: { place: "elsewhere", deadlines: { takeOverEveryMilliseconds: 50 } },
    });
    await server.lifecycle.adopt(AbortSignal.timeout(20_000));
    expect(server.lifecycle.findRunning(mine.sandboxId)).toBeNull();
    await lapse(mine.sandboxId);
    await expect.poll(() => server.lifecycle.findRunning(mine.sandboxId), { timeout: 10_000 }).not.toBeNull();
    const taken = server.lifecycle.findRunning(mine.sandboxId);
    expect(taken?.sidecar.bootId).toBe(mine.sidecar.bootId);
    expect(taken?.leaseEpoch).toBeGreaterThan(mine.leaseEpoch);
    const row = await test.readSandbox(mine.sandboxId);
    // It does not know yet that it was superseded: neither its calls nor its own end may harm what runs on.
    const late = { kind: "conflict", refusal: "lease-superseded" };
    await taken?.sidecar.prepareWorkspace(mine.sessionId, AbortSignal.timeout(10_000));
    await expect(mine.sidecar.restartAgent({}, AbortSignal.timeout(10_000))).rejects.toMatchObject(late);
    await gone.close({ terminate: true });
    expect(await test.readSandbox(mine.sandboxId)).toMatchObject({
      leaseOwner: row?.leaseOwner,
      observedState: "running",
    });
    const { sidecar, phases } = await ensure(server, { actor: test.actor, sessionId: mine.sessionId });
    expect([sidecar.bootId, phases]).toEqual([mine.sidecar.bootId, []]);
  });

  it("does not end what another server runs by now, though it cannot reach it itself", async () => {
    const reportEveryMilliseconds = 50;
    const deaf = await test.startServer({
      lifecycle: { deadlines: { renewEveryMilliseconds: 3_600_000, reportEveryMilliseconds } },
    });
    const mine = await wakeSession(deaf);
    server = await test.startServer({
      lifecycle: { place: "elsewhere", deadlines: { takeOverEveryMilliseconds: 50 } },
    });
    await server.lifecycle.adopt(AbortSignal.timeout(20_000));
    await lapse(mine.sandboxId);
    await expect.poll(() => server.lifecycle.findRunning(mine.sandboxId), { timeout: 10_000 }).not.toBeNull();
    deaf.backend.report = async () => "gone";
    await expect.poll(() => mine.signal.aborted, { timeout: 10_000 }).toBe(true);
    await deaf.close({ terminate: true });
    const { sidecar, phases } = await ensure(server, { actor: test.actor, sessionId: mine.sessionId });
    expect([sidecar.bootId, phases]).toEqual([mine.sidecar.bootId, []]);
  });

  it("leaves a sandbox alone that it cannot reach", async () => {
    server = await test.startServer({ lifecycle: { deadlines: { renewEveryMilliseconds: 3_600_000 } } });
    const mine = await wakeSession();
    const far = await createTestHome();
    const other = await compose({
      ...test.place,
      home: far.home,
      lifecycle: { deadlines: { takeOverEveryMilliseconds: 20 } },
    });
    await other.lifecycle.adopt(AbortSignal.timeout(20_000));
    await lapse(mine.sandboxId);
    const { report } = other.backend;
    const looked = new Promise<void>((resolve) => {
      let times = 0;
      other.backend.report = async (...parameters) => {
        times += 1;
        if (times === 3) resolve();
        return report(...parameters);
      };
    });
    await looked;
    expect(await test.readSandbox(mine.sandboxId)).toMatchObject({
      observedState: "running",
      leaseEpoch: mine.leaseEpoch,
    });
    await other.close({ terminate: false });
    await far.remove();
  });
});
