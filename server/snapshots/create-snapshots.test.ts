import { chmod, mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { archives, sessions } from "../../db/schema/index.ts";
import type { RecoveryPoint } from "../protocol/session-events.ts";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "../turns/test-turns.ts";

// Everything is real: the server as it is wired, its sandbox, the agent, the demo model.
let server: TestServer;
let sessionId: string;
beforeAll(async () => {
  server = await createTestServer();
  sessionId = await server.newSession();
  await server.prompt(sessionId, "Remember that my name is Ada Lovelace.");
  await server.follow(sessionId, ended());
}, 120_000);
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 120_000 };
const signal = () => AbortSignal.timeout(60_000);

async function workspaceOf(...path: string[]): Promise<string> {
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.select().from(sessions).where(eq(sessions.id, sessionId)),
  );
  return join((await createSandboxPaths(server.home).of(row?.sandboxId ?? "")).workspace, ...path);
}
const inWorkspace = (name: string) => workspaceOf("sessions", sessionId, name);

async function verifiedKinds(): Promise<string[]> {
  const rows = await server.database.transaction(server.viewer, (tx) => tx.select().from(archives));
  return rows.filter(({ state }) => state === "verified").map(({ kind }) => kind);
}

async function recovery() {
  return (await server.services.log.state(server.viewer, sessionId))?.recovery;
}

/** All that a viewer is told from now on. */
function followRecovery(): RecoveryPoint[] {
  const points: RecoveryPoint[] = [];
  const follow = async () => {
    const viewer = { actor: server.viewer, sessionId, after: 0, signal: signal() };
    for await (const event of server.services.log.follow(viewer)) {
      if (event.event === "session") points.push(event.data.recovery);
    }
  };
  void follow().catch(() => {});
  return points;
}

test("a running sandbox is archived, and an agent whose disk was lost remembers", patience, async () => {
  await writeFile(await inWorkspace("outputs/poem.txt"), "a poem");
  await server.wiring.loops.find(({ name }) => name === "archive-running")?.runNow();
  expect(await verifiedKinds()).toEqual(expect.arrayContaining(["history", "workspace"]));
  const history = await workspaceOf("opencode-data");
  const workspace = await workspaceOf("sessions", sessionId);
  await server.sleepAndWake(async () => {
    await rm(history, { recursive: true });
    await rm(workspace, { recursive: true });
  });
  await server.prompt(sessionId, "What is my name?");
  const state = await server.follow(sessionId, ended(2));
  expect(textOf(state)).toContain("Your name is Ada Lovelace.");
  expect((await server.services.log.state(server.viewer, sessionId))?.memory.status).toBe("restored");
  expect(await readFile(await inWorkspace("outputs/poem.txt"), "utf8")).toBe("a poem");
});

test("a person takes, lists, looks into, downloads and restores snapshots", patience, async () => {
  const { snapshots } = server.services;
  const story = await inWorkspace("story.txt");
  await writeFile(story, "the first words");
  const { snapshotId } = await snapshots.take(server.viewer, { sessionId, signal: signal() });
  const chosen = { sessionId, snapshotId: snapshotId ?? "", signal: signal() };
  const [listed] = await snapshots.list(server.viewer, sessionId);
  expect(listed).toMatchObject({ id: snapshotId, state: "verified", cause: null, restoreRequested: false });
  expect(listed?.contents?.entries).toBeGreaterThan(0);
  const { entries, truncated } = await snapshots.listFiles(server.viewer, chosen);
  expect(truncated).toBe(false);
  expect(entries).toContainEqual(expect.objectContaining({ path: "story.txt", kind: "file", size: 15 }));
  expect(entries.some(({ path }) => path.startsWith(".git/"))).toBe(false);
  const file = await snapshots.readFile(server.viewer, { ...chosen, path: "story.txt" });
  expect((await buffer(file.body)).toString()).toBe("the first words");

  await writeFile(story, "other words");
  expect(await snapshots.restore(server.viewer, chosen)).toEqual({ outcome: "restored", setAside: false });
  expect(await readFile(story, "utf8")).toBe("the first words");
  // What it replaced was archived before.
  expect((await snapshots.list(server.viewer, sessionId))[0]?.id).not.toBe(snapshotId);

  await writeFile(story, "other words again");
  const stranger = { ...server.viewer, userId: crypto.randomUUID() as typeof server.viewer.userId };
  await expect(snapshots.list(stranger, sessionId)).rejects.toMatchObject({ kind: "not-found" });
  await server.sleepAndWake(async () => {});
  const asleep = server.services.snapshots;
  await expect(asleep.take(server.viewer, chosen)).rejects.toMatchObject({ kind: "unavailable" });
  const { body, bytes } = await asleep.read(server.viewer, chosen);
  expect((await buffer(body)).length).toBe(bytes);
  const sameFile = await asleep.readFile(server.viewer, { ...chosen, path: "story.txt" });
  expect((await buffer(sameFile.body)).toString()).toBe("the first words");
  const theirs = asleep.readFile(stranger, { ...chosen, path: "story.txt" });
  await expect(theirs).rejects.toMatchObject({ kind: "not-found" });
  expect(await asleep.restore(server.viewer, chosen)).toEqual({ outcome: "at-next-wake", setAside: false });
  expect(await recovery()).toMatchObject({ restoring: true });
  await server.prompt(sessionId, "my name is Bo");
  await server.follow(sessionId, ended(3));
  expect(await readFile(story, "utf8")).toBe("the first words");
  expect((await asleep.list(server.viewer, sessionId)).some(({ restoreRequested }) => restoreRequested)).toBe(false);
  expect(await recovery()).toMatchObject({ restoring: false });
});

test("viewers see when files were saved, and why they were not until nothing is unsaved", patience, async () => {
  const { snapshots } = server.services;
  const points = followRecovery();
  await writeFile(await inWorkspace("news.txt"), "news");
  const take = () => snapshots.take(server.viewer, { sessionId, signal: signal() });
  expect(await take()).toMatchObject({ outcome: "verified" });
  // What was written this very moment never counts as unchanged.
  await expect.poll(take, { timeout: 30_000 }).toMatchObject({ outcome: "unchanged" });
  const [newest] = await snapshots.list(server.viewer, sessionId);
  const saved = { savedAt: newest?.createdAt, saving: false, problem: null, restoring: false };
  await expect.poll(() => points.at(-1)).toEqual(saved);
  expect(points).toContainEqual(expect.objectContaining({ saving: true }));

  await server.database.transaction(server.viewer, async (tx) => {
    const [row] = await tx
      .select()
      .from(archives)
      .where(eq(archives.id, newest?.id ?? ""));
    if (!row) throw new Error("There is no snapshot.");
    const failed = { id: crypto.randomUUID(), storeKey: `${row.storeKey}.failed`, createdAt: new Date() };
    await tx.insert(archives).values({ ...row, ...failed, state: "failed", cause: "The workspace has too much." });
  });
  expect(await recovery()).toEqual({ ...saved, problem: "The workspace has too much." });
  expect(await take()).toMatchObject({ outcome: "unchanged" });
  await expect.poll(() => points.at(-1)).toEqual(saved);
});

test("nothing is restored while what it would replace cannot be archived", patience, async () => {
  const { snapshots } = server.services;
  const story = await inWorkspace("story.txt");
  await writeFile(story, "worth keeping");
  const [oldest] = (await snapshots.list(server.viewer, sessionId))
    .filter(({ state }) => state === "verified")
    .reverse();
  const chosen = { sessionId, snapshotId: oldest?.id ?? "", signal: signal() };
  const isWished = async () =>
    (await server.services.snapshots.list(server.viewer, sessionId)).some((one) => one.restoreRequested);
  const heavy = await inWorkspace("heavy.bin");
  await writeFile(heavy, "");
  await truncate(heavy, 5 * 1024 ** 3);
  await expect(snapshots.restore(server.viewer, chosen)).rejects.toMatchObject({
    kind: "conflict",
    message: expect.stringMatching(/^Nothing was restored.*heavy\.bin/),
  });
  expect(await readFile(story, "utf8")).toBe("worth keeping");
  expect(await isWished()).toBe(false);

  // The same request, met by the wake instead.
  await server.sleepAndWake(async () => {});
  expect(await server.services.snapshots.restore(server.viewer, chosen)).toEqual({
    outcome: "at-next-wake",
    setAside: false,
  });
  await server.prompt(sessionId, "my name is Cy");
  const failed = await server.follow(sessionId, ended(4));
  expect(ends(failed).at(-1)?.body).toMatchObject({
    outcome: "failed",
    message: expect.stringMatching(/^Nothing was restored.*heavy\.bin/),
  });
  expect(await readFile(story, "utf8")).toBe("worth keeping");
  expect(await isWished()).toBe(false);
  // The request is gone with its failure, so that the session can be used.
  await rm(heavy);
  await server.prompt(sessionId, "my name is Di");
  expect(ends(await server.follow(sessionId, ended(5))).at(-1)?.body).toMatchObject({ outcome: "finished" });
  expect(await readFile(story, "utf8")).toBe("worth keeping");
});

test("what a restore at the next wake replaces is archived first", patience, async () => {
  const story = await inWorkspace("story.txt");
  await writeFile(story, "not archived yet");
  await server.sleepAndWake(async () => {});
  const { snapshots } = server.services;
  const [oldest] = (await snapshots.list(server.viewer, sessionId))
    .filter(({ state }) => state === "verified")
    .reverse();
  const wanted = { sessionId, snapshotId: oldest?.id ?? "", signal: signal() };
  // The oldest of all is from before there was a story; it may have given way to newer ones by now.
  const kept = await snapshots.readFile(server.viewer, { ...wanted, path: "story.txt" }).then(
    async ({ body }) => (await buffer(body)).toString(),
    () => null,
  );
  await snapshots.restore(server.viewer, wanted);
  await server.prompt(sessionId, "my name is Ed");
  await server.follow(sessionId, ended(6));
  expect(await readFile(story, "utf8").catch(() => null)).toBe(kept);
  expect(kept).not.toBe("not archived yet");
  const [newest] = (await snapshots.list(server.viewer, sessionId)).filter(({ state }) => state === "verified");
  const chosen = { sessionId, snapshotId: newest?.id ?? "", signal: signal() };
  await snapshots.restore(server.viewer, chosen);
  expect(await readFile(story, "utf8")).toBe("not archived yet");
});

test("a restore request is withdrawn while the sandbox sleeps, and its files stay as they are", patience, async () => {
  const story = await inWorkspace("story.txt");
  await writeFile(story, "stays");
  const isRestoring = async () => (await recovery())?.restoring;
  await server.sleepAndWake(async () => {});
  const { snapshots } = server.services;
  // Of older ones one may be deleted for that of the sleep.
  const [oldest] = (await snapshots.list(server.viewer, sessionId))
    .filter(({ state }) => state === "verified")
    .reverse();
  const chosen = { sessionId, snapshotId: oldest?.id ?? "" };
  await snapshots.withdrawRestore(server.viewer, chosen);
  await snapshots.restore(server.viewer, { ...chosen, signal: signal() });
  expect(await isRestoring()).toBe(true);
  await expect(
    snapshots.withdrawRestore(server.viewer, { ...chosen, snapshotId: crypto.randomUUID() }),
  ).rejects.toMatchObject({ kind: "not-found" });
  expect(await isRestoring()).toBe(true);
  await snapshots.withdrawRestore(server.viewer, chosen);
  expect(await isRestoring()).toBe(false);
  await server.prompt(sessionId, "my name is Flo");
  await server.follow(sessionId, ended(7));
  expect(await readFile(story, "utf8")).toBe("stays");
});

test("a restore request is not withdrawn from a sandbox that is awake: it may be met already", patience, async () => {
  const { snapshots } = server.services;
  const [newest] = (await snapshots.list(server.viewer, sessionId)).filter(({ state }) => state === "verified");
  const setRequestedAt = (at: Date | null) =>
    server.database.transaction(server.viewer, (tx) =>
      tx
        .update(archives)
        .set({ restoreRequestedAt: at })
        .where(eq(archives.id, newest?.id ?? "")),
    );
  await setRequestedAt(new Date());
  await expect(
    snapshots.withdrawRestore(server.viewer, { sessionId, snapshotId: newest?.id ?? "" }),
  ).rejects.toMatchObject({ kind: "conflict", message: expect.stringContaining("is awake") });
  expect((await recovery())?.restoring).toBe(true);
  await setRequestedAt(null);
});

test("what may not be read is in no snapshot, so a restore sets it aside", patience, async () => {
  const { snapshots } = server.services;
  const [newest] = (await snapshots.list(server.viewer, sessionId)).filter(({ state }) => state === "verified");
  const secret = await inWorkspace("secret.txt");
  await writeFile(secret, "nowhere else");
  await chmod(secret, 0o000);
  const chosen = { sessionId, snapshotId: newest?.id ?? "", signal: signal() };
  expect(await snapshots.restore(server.viewer, chosen)).toEqual({ outcome: "restored", setAside: true });
  await expect(readFile(secret)).rejects.toMatchObject({ code: "ENOENT" });
  const folder = await workspaceOf("managed/replaced", sessionId);
  const [kept] = await readdir(folder);
  await chmod(join(folder, kept ?? "", "secret.txt"), 0o600);
  expect(await readFile(join(folder, kept ?? "", "secret.txt"), "utf8")).toBe("nowhere else");
});

test("an empty, absent or unchanged workspace is in nobody's way", patience, async () => {
  const { snapshots } = server.services;
  await writeFile(await inWorkspace("story.txt"), "the last words");
  const { snapshotId } = await snapshots.take(server.viewer, { sessionId, signal: signal() });
  const chosen = { sessionId, snapshotId: snapshotId ?? "", signal: signal() };
  const count = async () => (await snapshots.list(server.viewer, sessionId)).length;
  // A file of this very moment has no fingerprint to be known by; by the second time it has.
  await expect
    .poll(async () => (await snapshots.take(server.viewer, { sessionId, signal: signal() })).outcome)
    .toBe("unchanged");
  const before = await count();
  expect(await snapshots.restore(server.viewer, chosen)).toEqual({ outcome: "restored", setAside: false });
  await rm(await workspaceOf("sessions", sessionId), { recursive: true });
  expect(await snapshots.restore(server.viewer, chosen)).toEqual({ outcome: "restored", setAside: false });
  await rm(await workspaceOf("sessions", sessionId), { recursive: true });
  await mkdir(await workspaceOf("sessions", sessionId));
  expect(await snapshots.restore(server.viewer, chosen)).toEqual({ outcome: "restored", setAside: false });
  expect(await readFile(await inWorkspace("story.txt"), "utf8")).toBe("the last words");
  // There was nothing to keep.
  expect(await count()).toBe(before);
});

test("a session's snapshots go with it", patience, async () => {
  await server.services.sessions.remove(server.viewer, sessionId);
  expect(await verifiedKinds()).not.toContain("workspace");
});
