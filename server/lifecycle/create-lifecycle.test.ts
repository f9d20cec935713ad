import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { desc, eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { operations, sandboxes, sessions, tokens, turns } from "../../db/schema/index.ts";
import { causes } from "../protocol/causes.ts";
import { childrenOf, withEnvironment } from "../sandboxes/backends/local/process-identity.ts";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import { createLifecycleTest, ensure, type LifecycleTest, type TestServer } from "./test/test-lifecycle.ts";

// Each test wakes a sandbox, some of them three times; the first one with the real agent.
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

const lastOperation = (sandboxId: string) =>
  test.database.transaction(test.actor, async (tx) => {
    const [row] = await tx
      .select()
      .from(operations)
      .where(eq(operations.sandboxId, sandboxId))
      .orderBy(desc(operations.startedAt))
      .limit(1);
    return row;
  });

async function lifeOf(sandboxId: string) {
  const { directory } = await createSandboxPaths(test.shared.home).of(sandboxId);
  return JSON.parse(await readFile(join(directory, "life.json"), "utf8")) as Record<
    "leader" | "first",
    { pid: number }
  >;
}

describe("waking", () => {
  it("starts the sandbox and its agent once for all who ask, and tells them the phases", async () => {
    server = await test.startServer({ agent: "opencode" });
    const [one, two] = await Promise.all([wakeSession(), wakeSession()]);
    expect(one.phases).toEqual(["starting-sandbox", "restoring", "starting-agent", "running"]);
    expect(two.sidecar.bootId).toBe(one.sidecar.bootId);
    expect(two.phases.at(-1)).toBe("running");
    const health = await one.sidecar.health(AbortSignal.timeout(5_000));
    expect(health).toMatchObject({ gate: "open", agent: { state: "running", life: 1 } });
    expect(await test.readSandbox(one.sandboxId)).toMatchObject({
      observedState: "running",
      wantedState: "running",
      isolation: "sandboxed",
      leaseEpoch: one.leaseEpoch,
    });
    expect(await lastOperation(one.sandboxId)).toMatchObject({ verb: "wake", state: "succeeded", phase: "running" });
    const again = await ensure(server, { actor: test.actor, sessionId: one.sessionId });
    expect(again.phases).toEqual([]);
    expect(again.sidecar.bootId).toBe(one.sidecar.bootId);
  });

  it("says why when the agent does not start, leaves nothing running, and starts anew the next time", async () => {
    server = await test.startServer({
      backend: {
        programs: { sidecar: test.shared.sidecar, opencode: { path: "/usr/bin/false", version: "none" } },
      },
      lifecycle: { deadlines: { agentStartMilliseconds: 8_000 } },
    });
    const sessionId = await test.createSession();
    await expect(ensure(server, { actor: test.actor, sessionId })).rejects.toMatchObject({ name: "AppError" });
    const [session] = await test.database.transaction(test.actor, (tx) =>
      tx.select().from(sessions).where(eq(sessions.id, sessionId)),
    );
    const sandboxId = session?.sandboxId ?? "";
    const row = await test.readSandbox(sandboxId);
    expect(row).toMatchObject({ observedState: "failed", leaseOwner: null });
    expect(row?.stateCause).toBeTruthy();
    expect(await lastOperation(sandboxId)).toMatchObject({ state: "failed", cause: row?.stateCause });
    expect(await server.backend.list(AbortSignal.timeout(5_000))).toContainEqual(
      expect.objectContaining({ sandboxId, running: false }),
    );
    const better = await test.startServer();
    expect((await ensure(better, { actor: test.actor, sessionId })).phases.at(-1)).toBe("running");
    await better.close({ terminate: true });
  });

  it("keeps the sandbox token, and replaces it when it is about to expire", async () => {
    const current = () =>
      test.database.transaction(test.actor, (tx) => tx.select().from(tokens).orderBy(desc(tokens.createdAt)));
    server = await test.startServer();
    await wakeSession();
    const [before] = await current();
    await server.close({ terminate: true });
    server = await test.startServer();
    await wakeSession();
    expect((await current())[0]?.id).toBe(before?.id);
    await test.database.transaction(test.actor, (tx) =>
      tx.update(tokens).set({ expiresAt: new Date(Date.now() + 6 * 24 * 3_600_000) }),
    );
    await server.close({ terminate: true });
    server = await test.startServer();
    await wakeSession();
    const [after, old] = await current();
    expect(after?.id).not.toBe(before?.id);
    expect(old).toMatchObject({ id: before?.id, revokedAt: expect.any(Date) });
  });
});

describe("isolation", () => {
  it("is fixed at the first use, and nothing falls back when it cannot be given any more", async () => {
    server = await test.startServer();
    const { sessionId, sandboxId } = await wakeSession();
    await server.close({ terminate: true });
    server = await test.startServer({ backend: { isolation: "host" } });
    await expect(ensure(server, { actor: test.actor, sessionId })).rejects.toMatchObject({ kind: "unavailable" });
    expect(await server.backend.list(AbortSignal.timeout(5_000))).toContainEqual(
      expect.objectContaining({ sandboxId, running: false }),
    );
  });

  it("is not given up for a new session unless somebody agreed", async () => {
    server = await test.startServer({ backend: { isolation: "host" } });
    await expect(wakeSession()).rejects.toMatchObject({ kind: "unavailable" });
  });

  it("may be none by consent: then nothing of a killed sidecar's agent is left beside the next", async () => {
    await test.setHostConsent(new Date());
    server = await test.startServer({
      backend: { isolation: "host" },
      lifecycle: { deadlines: { reportEveryMilliseconds: 100 } },
    });
    const lost = await wakeSession();
    const agents = () => withEnvironment([`DORMOUSE_SANDBOX=${lost.sandboxId}`]);
    expect(agents()).not.toEqual([]);
    const before = agents().map(({ pid }) => pid);
    process.kill((await lifeOf(lost.sandboxId)).leader.pid, "SIGKILL");
    await expect.poll(() => lost.signal.aborted, { timeout: 10_000 }).toBe(true);
    await ensure(server, { actor: test.actor, sessionId: lost.sessionId });
    expect(agents().filter(({ pid }) => before.includes(pid))).toEqual([]);
    await server.close({ terminate: true });
    expect(agents()).toEqual([]);
    await test.setHostConsent(null);
  });

  it("does not let a session of somebody else be used", async () => {
    server = await test.startServer();
    const sessionId = "00000000-0000-4000-8000-000000000000";
    await expect(ensure(server, { actor: test.actor, sessionId })).rejects.toMatchObject({ kind: "not-found" });
  });
});

describe("losing", () => {
  it("aborts who uses a sandbox whose sidecar was killed, says why, and starts another", async () => {
    server = await test.startServer({ lifecycle: { deadlines: { reportEveryMilliseconds: 100 } } });
    const lost = await wakeSession();
    process.kill((await lifeOf(lost.sandboxId)).first.pid, "SIGKILL");
    await expect.poll(() => lost.signal.aborted, { timeout: 10_000 }).toBe(true);
    expect(lost.signal.reason).toMatchObject({ kind: "unavailable", message: causes["sandbox-ended"].message });
    await expect
      .poll(() => test.readSandbox(lost.sandboxId), { timeout: 10_000 })
      .toMatchObject({ observedState: "failed", stateCause: causes["sandbox-ended"].message });
    const again = await ensure(server, { actor: test.actor, sessionId: lost.sessionId });
    expect(again.sidecar.bootId).not.toBe(lost.sidecar.bootId);
    expect(again.signal.aborted).toBe(false);
  });

  it("bears a silence, and ends a sandbox that is there but answers nothing for the whole quarantine", async () => {
    const deadlines = {
      reportEveryMilliseconds: 50,
      healthEveryMilliseconds: 100,
      healthMilliseconds: 1_000,
      quarantineMilliseconds: 4_000,
    };
    server = await test.startServer({ lifecycle: { deadlines } });
    const silent = await wakeSession();
    const [sidecar] = childrenOf((await lifeOf(silent.sandboxId)).first.pid);
    process.kill(sidecar ?? 0, "SIGSTOP");
    await expect(silent.sidecar.health(AbortSignal.timeout(1_500))).rejects.toThrow();
    expect(silent.signal.aborted).toBe(false);
    await expect.poll(() => silent.signal.aborted, { timeout: 30_000 }).toBe(true);
    expect(silent.signal.reason).toMatchObject({ message: causes["sandbox-silent"].message });
    const again = await ensure(server, { actor: test.actor, sessionId: silent.sessionId });
    expect(again.sidecar.bootId).not.toBe(silent.sidecar.bootId);
  });

  it("notices before the next turn, also when the watch has not yet", async () => {
    server = await test.startServer({ lifecycle: { deadlines: { reportEveryMilliseconds: 60_000 } } });
    const lost = await wakeSession();
    process.kill((await lifeOf(lost.sandboxId)).first.pid, "SIGKILL");
    // What is inside dies a moment after what holds it.
    const health = () => lost.sidecar.health(AbortSignal.timeout(1_000)).catch(() => null);
    await expect.poll(health, { timeout: 10_000 }).toBeNull();
    const again = await ensure(server, { actor: test.actor, sessionId: lost.sessionId });
    expect(again.phases).toEqual(["starting-sandbox", "restoring", "starting-agent", "running"]);
    expect(lost.signal.aborted).toBe(true);
  });
});

describe("a server that comes back", () => {
  it("keeps the sandbox of one that was killed: same boot, same agent, at once", async () => {
    const sessionId = await test.createSession();
    const input = { ...test.shared, actor: test.actor, sessionId };
    const doomed = spawn(
      process.execPath,
      [join(import.meta.dirname, "test/test-doomed-server.ts"), JSON.stringify(input)],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const [bootId] = await once(doomed.stdout.setEncoding("utf8"), "data");
    doomed.kill("SIGKILL");
    await once(doomed, "exit");
    server = await test.startServer();
    const adopted = await server.lifecycle.adopt(AbortSignal.timeout(20_000));
    expect(adopted).toHaveLength(1);
    const { sidecar, phases } = await ensure(server, { actor: test.actor, sessionId });
    expect(sidecar.bootId).toBe(String(bootId).trim());
    expect(phases).toEqual([]);
    expect(await sidecar.health(AbortSignal.timeout(5_000))).toMatchObject({ agent: { state: "running", life: 1 } });
  });

  it("ends what cannot prove that it is this boot, and says so", async () => {
    const first = await test.startServer();
    const { sandboxId, sessionId, sidecar } = await wakeSession(first);
    await first.close({ terminate: false });
    await test.database.transaction(test.actor, (tx) =>
      tx.update(sandboxes).set({ bootSecretEncrypted: "v1.AAAA" }).where(eq(sandboxes.id, sandboxId)),
    );
    server = await test.startServer();
    expect(await server.lifecycle.adopt(AbortSignal.timeout(20_000))).toEqual([]);
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "failed" });
    expect(await server.backend.list(AbortSignal.timeout(5_000))).toContainEqual(
      expect.objectContaining({ sandboxId, running: false }),
    );
    const again = await ensure(server, { actor: test.actor, sessionId });
    expect(again.sidecar.bootId).not.toBe(sidecar.bootId);
  });

  it("ends a sandbox that runs although it is not said to be awake", async () => {
    const first = await test.startServer();
    const { sandboxId } = await wakeSession(first);
    await first.close({ terminate: false });
    await test.database.transaction(test.actor, (tx) =>
      tx.update(sandboxes).set({ observedState: "sleeping" }).where(eq(sandboxes.id, sandboxId)),
    );
    server = await test.startServer();
    expect(await server.backend.list(AbortSignal.timeout(5_000))).toContainEqual(
      expect.objectContaining({ sandboxId, running: true }),
    );
    expect(await server.lifecycle.adopt(AbortSignal.timeout(20_000))).toEqual([]);
    expect(await server.backend.list(AbortSignal.timeout(5_000))).toContainEqual(
      expect.objectContaining({ sandboxId, running: false }),
    );
  });

  it("does not touch a sandbox whose lease another server holds, until it lapses", async () => {
    server = await test.startServer({ lifecycle: { deadlines: { renewEveryMilliseconds: 100 } } });
    const mine = await wakeSession();
    const other = await test.startServer({ lifecycle: { homeId: "elsewhere" } });
    expect(await other.lifecycle.adopt(AbortSignal.timeout(20_000))).toEqual([]);
    await expect(ensure(other, { actor: test.actor, sessionId: mine.sessionId })).rejects.toMatchObject({
      kind: "unavailable",
    });
    await test.database.transaction(test.actor, (tx) =>
      tx
        .update(sandboxes)
        .set({ leaseOwner: "a third", leaseEpoch: mine.leaseEpoch + 1 })
        .where(eq(sandboxes.id, mine.sandboxId)),
    );
    await expect.poll(() => mine.signal.aborted, { timeout: 10_000 }).toBe(true);
    expect(server.lifecycle.findRunning(mine.sandboxId)).toBeNull();
    await test.database.transaction(test.actor, (tx) =>
      tx
        .update(sandboxes)
        .set({ leaseExpiresAt: new Date(0) })
        .where(eq(sandboxes.id, mine.sandboxId)),
    );
    await other.lifecycle.adopt(AbortSignal.timeout(20_000));
    expect(other.lifecycle.findRunning(mine.sandboxId)?.sidecar.bootId).toBe(mine.sidecar.bootId);
    await other.close({ terminate: true });
  });
});

describe("ending", () => {
  it("puts sandboxes to sleep when the server is stopped, and wakes them with their files", async () => {
    const first = await test.startServer();
    const { sandboxId, sessionId, sidecar, signal } = await wakeSession(first);
    const { directory } = await sidecar.prepareWorkspace(sessionId, AbortSignal.timeout(10_000));
    expect(directory).toBe(`/workspace/sessions/${sessionId}`);
    await first.close({ terminate: true });
    expect(signal.aborted).toBe(true);
    expect(await test.readSandbox(sandboxId)).toMatchObject({ observedState: "sleeping", leaseOwner: null });
    server = await test.startServer();
    expect(await server.backend.list(AbortSignal.timeout(5_000))).toContainEqual(
      expect.objectContaining({ sandboxId, running: false }),
    );
    const again = await ensure(server, { actor: test.actor, sessionId });
    const files = await again.sidecar.json<{ entries: { name: string }[] }>({
      method: "GET",
      path: `/files/list?path=${encodeURIComponent("sessions")}`,
      signal: AbortSignal.timeout(10_000),
    });
    expect(files.entries.map(({ name }) => name)).toContain(sessionId);
  });
});

describe("changed models", () => {
  it("restart the agent with the new configuration, though not under a running turn", async () => {
    let model = "demo/one";
    const { tenantId, userId } = test.actor;
    server = await test.startServer({ lifecycle: { agentConfig: async () => ({ model, share: "disabled" }) } });
    const { sandboxId, sessionId, sidecar } = await wakeSession();
    const life = async () => (await sidecar.health(AbortSignal.timeout(5_000))).agent.life;
    server.lifecycle.applyModels(tenantId);
    const before = await test.readSandbox(sandboxId);
    const [turn] = await test.database.transaction(test.actor, (tx) =>
      tx
        .insert(turns)
        .values({ tenantId, userId, sessionId, state: "running", position: 1, prompt: "x", idempotencyKey: "x" })
        .returning(),
    );
    model = "demo/two";
    server.lifecycle.applyModels(tenantId);
    const other = await test.createSession();
    await ensure(server, { actor: test.actor, sessionId: other });
    expect(await life()).toBe(1);
    await test.database.transaction(test.actor, (tx) =>
      tx
        .update(turns)
        .set({ state: "finished" })
        .where(eq(turns.id, turn?.id ?? "")),
    );
    server.lifecycle.turnEnded(sandboxId);
    await expect.poll(life, { timeout: 20_000 }).toBe(2);
    await expect
      .poll(async () => (await test.readSandbox(sandboxId))?.agentConfigHash, { timeout: 20_000 })
      .not.toBe(before?.agentConfigHash);
    model = "demo/three";
    expect((await ensure(server, { actor: test.actor, sessionId: other })).phases).toEqual(["restarting-agent"]);
    expect(await life()).toBe(3);
  });
});
