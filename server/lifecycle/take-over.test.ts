import { eq, type SQL, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { sandboxes } from "../../db/schema/index.ts";
import { AppError } from "../errors.ts";
import { createTestHome } from "../sandboxes/backends/local/test/test-backend.ts";
import { createSidecarClient } from "../sandboxes/index.ts";
import type { RunningSandbox } from "./index.ts";
import { compose } from "./test/test-composition.ts";
import { createLifecycleTest, ensure, type LifecycleTest, type TestServer } from "./test/test-lifecycle.ts";

// Each test wakes a sandbox; the first one with the real agent.
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

const lapse = (sandboxId: string) => expireLease(sandboxId, sql`now() - interval '1 second'`);
/** Nobody renews it, and it must not lapse before the test lets it. */
const prolong = (sandboxId: string) => expireLease(sandboxId, sql`now() + interval '1 hour'`);

async function expireLease(sandboxId: string, leaseExpiresAt: SQL): Promise<void> {
  await test.database.transaction(test.actor, (tx) =>
    tx.update(sandboxes).set({ leaseExpiresAt }).where(eq(sandboxes.id, sandboxId)),
  );
}

/** `abandon`: the server that woke it is gone, and so is its lease. */
async function wakeElsewhere() {
  const gone = await test.startServer({ lifecycle: { deadlines: { renewEveryMilliseconds: 3_600_000 } } });
  const mine = await wakeSession(gone);
  return {
    mine,
    async abandon() {
      await gone.close({ terminate: false });
      await lapse(mine.sandboxId);
    },
  };
}

/** The first proof is asked for, and comes when it is let. */
function slowToProve() {
  const asked = Promise.withResolvers<void>();
  const proof = Promise.withResolvers<void>();
  return {
    asked: asked.promise,
    answer: () => proof.resolve(),
    refuse: () => proof.reject(new AppError("upstream", "Something else answered.")),
    createSidecarClient(input: Parameters<typeof createSidecarClient>[0]) {
      const client = createSidecarClient(input);
      const health: typeof client.health = async (signal) => {
        asked.resolve();
        await proof.promise;
        return client.health(signal);
      };
      return { ...client, health };
    },
  };
}

const agentLife = async (sandbox: Pick<RunningSandbox, "sidecar"> | undefined) =>
  (await sandbox?.sidecar.health(AbortSignal.timeout(5_000)))?.agent.life;

describe("a server that stays", () => {
  it("takes over the sandbox of one that is gone once its lease has lapsed, and the gone one writes nothing", async () => {
    const gone = await test.startServer({
      agent: "opencode",
      lifecycle: { deadlines: { renewEveryMilliseconds: 3_600_000 } },
    });
    const mine = await wakeSession(gone);
    await prolong(mine.sandboxId);
    server = await test.startServer({
      lifecycle: { homeId: "elsewhere", deadlines: { takeOverEveryMilliseconds: 50 } },
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
      lifecycle: { homeId: "elsewhere", deadlines: { takeOverEveryMilliseconds: 50 } },
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

  it("keeps what runs when a turn comes before it has looked, and when several come at once", async () => {
    const { mine, abandon } = await wakeElsewhere();
    server = await test.startServer({ lifecycle: { homeId: "elsewhere" } });
    await abandon();
    const other = await test.createSession();
    const found = await Promise.all(
      [mine.sessionId, other, mine.sessionId].map((sessionId) => ensure(server, { actor: test.actor, sessionId })),
    );
    for (const { sidecar, phases } of found) expect([sidecar.bootId, phases]).toEqual([mine.sidecar.bootId, []]);
    expect(await agentLife(found[0])).toBe(1);
  });

  it("keeps what runs when a turn comes between the lease and the proof", async () => {
    const { mine, abandon } = await wakeElsewhere();
    const { asked, answer, createSidecarClient } = slowToProve();
    server = await test.startServer({
      lifecycle: { homeId: "elsewhere", deadlines: { takeOverEveryMilliseconds: 50 }, createSidecarClient },
    });
    await server.lifecycle.adopt(AbortSignal.timeout(20_000));
    await abandon();
    await asked;
    const asks = vi.spyOn(server.database, "transaction");
    const coming = ensure(server, { actor: test.actor, sessionId: mine.sessionId });
    // A wake would take the lease next: once nothing is asked of the database, the turn waits for something else.
    await expect.poll(() => asks.mock.settledResults.map(({ type }) => type)).toContain("fulfilled");
    await expect.poll(() => asks.mock.settledResults.map(({ type }) => type)).not.toContain("incomplete");
    answer();
    const { sidecar, phases, leaseEpoch } = await coming;
    expect([sidecar.bootId, phases]).toEqual([mine.sidecar.bootId, []]);
    expect(leaseEpoch).toBe(mine.leaseEpoch + 1);
    expect(await agentLife({ sidecar })).toBe(1);
  });

  it("asks a silent sandbox again before it gives it up", async () => {
    const { mine, abandon } = await wakeElsewhere();
    let asked = 0;
    server = await test.startServer({
      lifecycle: {
        homeId: "elsewhere",
        createSidecarClient(input) {
          const client = createSidecarClient(input);
          const health: typeof client.health = async (signal) => {
            asked += 1;
            if (asked < 4) throw new AppError("timeout", "The sandbox did not answer in time.");
            return client.health(signal);
          };
          return { ...client, health };
        },
      },
    });
    await abandon();
    await server.lifecycle.adopt(AbortSignal.timeout(20_000));
    expect(asked).toBe(4);
    expect(server.lifecycle.findRunning(mine.sandboxId)?.sidecar.bootId).toBe(mine.sidecar.bootId);
  });

  it("ends nothing that a third one took over while it asked in vain", async () => {
    const { mine, abandon } = await wakeElsewhere();
    const { asked, refuse, createSidecarClient } = slowToProve();
    server = await test.startServer({ lifecycle: { homeId: "elsewhere", createSidecarClient } });
    await abandon();
    const adopting = server.lifecycle.adopt(AbortSignal.timeout(20_000));
    await asked;
    const leaseExpiresAt = sql`now() + interval '1 minute'`;
    const changes = { leaseOwner: "a third", leaseEpoch: mine.leaseEpoch + 2, leaseExpiresAt };
    await test.database.transaction(test.actor, (tx) =>
      tx.update(sandboxes).set(changes).where(eq(sandboxes.id, mine.sandboxId)),
    );
    refuse();
    expect(await adopting).toEqual([]);
    const row = await test.readSandbox(mine.sandboxId);
    expect(await server.backend.report(mine.sandboxId, row?.address ?? null, AbortSignal.timeout(5_000))).toBe(
      "present",
    );
    expect(await test.readSandbox(mine.sandboxId)).toMatchObject({ observedState: "running", leaseOwner: "a third" });
    await lapse(mine.sandboxId);
    await server.close({ terminate: true });
    server = await test.startServer({ lifecycle: { homeId: "a fourth" } });
    await server.lifecycle.adopt(AbortSignal.timeout(20_000));
  });

  it("leaves a sandbox alone that it cannot reach", async () => {
    server = await test.startServer({ lifecycle: { deadlines: { renewEveryMilliseconds: 3_600_000 } } });
    const mine = await wakeSession();
    const far = await createTestHome();
    const other = await compose({
      ...test.shared,
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
