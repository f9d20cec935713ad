import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { archives as archiveTable, removedWorkspaces } from "../../db/schema/index.ts";
import { createFileStore, type FileStore } from "../file-store/index.ts";
import { createLogger } from "../lib/logger.ts";
import type { OwnedSandbox } from "../lifecycle/index.ts";
import { createLifecycleTest, ensure, type LifecycleTest, type TestServer } from "../lifecycle/test/test-lifecycle.ts";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import { createSessions } from "../sessions/create-sessions.ts";
import type { Subject } from "./archive-context.ts";
import { createArchives } from "./create-archives.ts";
import { sweepObjects } from "./sweep-objects.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const signal = () => AbortSignal.timeout(60_000);
let test: LifecycleTest;
let root: string;
let store: FileStore;
let server: TestServer;
let sandbox: OwnedSandbox;
let sessionId: string;
/** Called before what is archived is written. */
let beforeWrite = async () => {};

const logger = createLogger("silent");
const slowStore = (): FileStore => ({
  ...store,
  async write(...input) {
    await beforeWrite();
    return store.write(...input);
  },
});
const archivesNow = () => createArchives({ database: test.database, fileStore: slowStore(), logger });
let archives: ReturnType<typeof archivesNow>;

beforeAll(async () => {
  test = await createLifecycleTest();
  root = await mkdtemp(join(tmpdir(), "dormouse-store-"));
  store = await createFileStore({ kind: "filesystem", root });
  archives = archivesNow();
});
beforeEach(async () => {
  sessionId = await test.createSession();
  await wake();
  await archives.openWorkspace(sandbox, { sessionId, signal: signal(), onRestoring: async () => {} });
  await writeFile(join(await directory(), "story.txt"), "once upon a time");
});
afterEach(() => server.close({ terminate: true }));
afterAll(async () => {
  await test.dispose();
  await rm(root, { recursive: true, force: true });
});

async function wake(): Promise<void> {
  server = await test.startServer({ lifecycle: { archives } });
  sandbox = { ...(await ensure(server, { actor: test.actor, sessionId })), actor: test.actor };
}

const sessionsDirectory = async () =>
  join((await createSandboxPaths(test.shared.home).of(sandbox.sandboxId)).workspace, "sessions");
const directory = async () => join(await sessionsDirectory(), sessionId);
const workspace = (): Subject => ({ kind: "workspace", sessionId });
const isOnDisk = async () => (await readdir(await sessionsDirectory())).includes(sessionId);

/** As deleting does it, where the live clean-up does nothing. */
const remove = (tellHolder = server.lifecycle.tellHolder) =>
  createSessions({
    database: test.database,
    log: { notifyViewers: async () => {} },
    release: () => archives.removeSnapshots(test.actor, sessionId),
    onRemoved: tellHolder,
  }).remove({ ...test.actor } as Parameters<ReturnType<typeof createSessions>["remove"]>[0], sessionId);

async function leftovers() {
  const rows = await test.database.transaction(test.actor, async (tx) => ({
    archives: await tx.select().from(archiveTable).where(eq(archiveTable.sessionId, sessionId)),
    removed: await tx.select().from(removedWorkspaces).where(eq(removedWorkspaces.sessionId, sessionId)),
  }));
  const keys: string[] = [];
  for await (const { key } of store.list(null, signal())) if (key.includes(sessionId)) keys.push(key);
  return { archives: rows.archives.length, removed: rows.removed.length, keys, onDisk: await isOnDisk() };
}

const nothing = { archives: 0, removed: 0, keys: [], onDisk: false };

it("leaves no files where the sandbox runs, though the live clean-up did nothing", async () => {
  await archives.take(sandbox, { subject: workspace(), signal: signal() });
  expect(await remove()).toBe(true);
  await expect.poll(leftovers, { timeout: 20_000 }).toEqual(nothing);
});

it("leaves neither archive nor files when it happens during a snapshot", async () => {
  const writing = Promise.withResolvers<void>();
  const removed = Promise.withResolvers<void>();
  beforeWrite = () => {
    writing.resolve();
    return removed.promise;
  };
  const taking = archives.take(sandbox, { subject: workspace(), signal: signal() });
  await writing.promise;
  expect(await remove()).toBe(true);
  beforeWrite = async () => {};
  removed.resolve();
  await expect(taking).rejects.toMatchObject({ kind: "conflict" });
  await expect.poll(leftovers, { timeout: 20_000 }).toEqual(nothing);
});

it("of a sandbox that sleeps leaves no files from its next wake on", async () => {
  await server.close({ terminate: true });
  expect(await remove(async () => {})).toBe(true);
  expect(await leftovers()).toMatchObject({ removed: 1, onDisk: true });
  const removedId = sessionId;
  sessionId = await test.createSession();
  await wake();
  sessionId = removedId;
  await expect.poll(leftovers, { timeout: 20_000 }).toEqual(nothing);
});

it("objects that no row knows are removed once they are old, and no others", async () => {
  const { archiveId } = await archives.take(sandbox, { subject: workspace(), signal: signal() });
  await archives.take(sandbox, { subject: { kind: "history", sessionId: null }, signal: signal() });
  const keysOf = async () => {
    const keys: string[] = [];
    for await (const { key } of store.list(null, signal())) keys.push(key);
    return keys.sort();
  };
  const before = await keysOf();
  const [kept] = before.filter((key) => key.includes(archiveId ?? "?"));
  const stray = kept?.replace(archiveId ?? "?", crypto.randomUUID()) ?? "";
  await writeFile(join(root, stray), "nobody's");
  const sweep = (olderThanMilliseconds: number) =>
    sweepObjects({ database: test.database, fileStore: store, logger }, { olderThanMilliseconds, signal: signal() });
  expect(await sweep(3_600_000)).toBe(0);
  const longAgo = new Date(Date.now() - 7_200_000);
  for (const key of [...before, stray]) await utimes(join(root, key), longAgo, longAgo);
  expect(await sweep(3_600_000)).toBe(1);
  expect(await keysOf()).toEqual(before);
});
