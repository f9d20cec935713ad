import { appendFile, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { desc, eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { archives as archiveTable, sandboxes, sessions } from "../../db/schema/index.ts";
import { createFileStore, type FileStore } from "../file-store/index.ts";
import { createLogger } from "../lib/logger.ts";
import type { OwnedSandbox } from "../lifecycle/index.ts";
import { noArchives } from "../lifecycle/test/test-composition.ts";
import { createLifecycleTest, ensure, type LifecycleTest, type TestServer } from "../lifecycle/test/test-lifecycle.ts";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import type { Subject } from "./archive-context.ts";
import { createArchives } from "./create-archives.ts";
import { newestHistoryKey, requireStoreKey } from "./store-keys.ts";

// Real Postgres, sandbox and sidecar, woken at least once by each test; the real agent for what becomes of its memory.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const history: Subject = { kind: "history", sessionId: null };
const signal = () => AbortSignal.timeout(60_000);

let test: LifecycleTest;
let root: string;
let store: FileStore;
let archives: ReturnType<typeof createArchives>;
let server: TestServer;
let sandbox: OwnedSandbox;
let sessionId: string;
let agent: "opencode" | "stand-in" = "stand-in";

beforeAll(async () => {
  test = await createLifecycleTest();
  root = await mkdtemp(join(tmpdir(), "dormouse-store-"));
  store = await createFileStore({ kind: "filesystem", root });
  archives = archivesOn(store);
});
beforeEach(async () => {
  sessionId = await test.createSession();
  await wake();
});
afterEach(() => server.close({ terminate: true }));
afterAll(async () => {
  await test.dispose();
  await rm(root, { recursive: true, force: true });
});

const archivesOn = (fileStore: FileStore) =>
  createArchives({ database: test.database, fileStore, logger: createLogger("silent") });

async function wake(): Promise<void> {
  server = await test.startServer({
    agent,
    lifecycle: { archives: { ...noArchives, wakeHistory: (input) => archives.wakeHistory(input) } },
  });
  sandbox = { ...(await ensure(server, { actor: test.actor, sessionId })), actor: test.actor };
}

async function sleepAndWake(whileAsleep: () => Promise<void> = async () => {}): Promise<void> {
  await server.close({ terminate: true });
  await whileAsleep();
  await wake();
}

const inSandbox = async (...path: string[]) =>
  join((await createSandboxPaths(test.shared.home).of(sandbox.sandboxId)).workspace, ...path);
const inWorkspace = (name: string) => inSandbox("sessions", sessionId, name);
const open = () => archives.openWorkspace(sandbox, { sessionId, signal: signal(), onRestoring: async () => {} });
const workspace = (): Subject => ({ kind: "workspace", sessionId });
const take = (subject: Subject) => archives.take(sandbox, { subject, signal: signal() });

function rowsOf(kind: Subject["kind"]) {
  return test.database.transaction(test.actor, (tx) =>
    tx.select().from(archiveTable).where(eq(archiveTable.kind, kind)).orderBy(desc(archiveTable.createdAt)),
  );
}
const verifiedOf = async (kind: Subject["kind"]) => (await rowsOf(kind)).filter(({ state }) => state === "verified");

async function keysWith(word: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(null, signal())) if (key.includes(word)) keys.push(key);
  return keys;
}

async function bytesAt(key: string): Promise<Buffer> {
  const stream = await store.read(requireStoreKey(key), { signal: signal() });
  if (!stream) throw new Error(`Nothing is at ${key}.`);
  return buffer(stream);
}

describe("taking archives", () => {
  it("keeps three generations of history, the newest also at the fixed key", async () => {
    for (let change = 0; change < 5; change += 1) {
      await writeFile(await inSandbox("opencode-data", "opencode", "change.txt"), `change ${change}`);
      expect((await take(history)).outcome).toBe("verified");
    }
    const rows = await rowsOf("history");
    expect(rows.map(({ state }) => state)).toEqual(["verified", "verified", "verified"]);
    expect((await keysWith("/history/")).sort()).toEqual(rows.map(({ storeKey }) => storeKey).sort());
    const newest = await bytesAt(rows[0]?.storeKey ?? "");
    expect((await bytesAt(newestHistoryKey(sandbox))).equals(newest)).toBe(true);
  });

  it("makes nothing new of what is unchanged, and never replaces something by nothing (8, 21)", async () => {
    await open();
    await writeFile(await inWorkspace("kept.txt"), "kept");
    // A file that was written this very moment has no fingerprint to be known by yet; by the second take it has.
    await take(workspace());
    const known = await take(workspace());
    expect(await take(workspace())).toEqual({ outcome: "unchanged", archiveId: known.archiveId });
    await rm(await inWorkspace("kept.txt"));
    expect(await take(workspace())).toEqual({ outcome: "empty", archiveId: known.archiveId });

    await take(history);
    const before = await verifiedOf("history");
    await rm(await inSandbox("opencode-data", "opencode"), { recursive: true });
    expect((await take(history)).outcome).toBe("empty");
    expect((await verifiedOf("history")).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(await keysWith("opencode-history.tar.gz")).toHaveLength(1);
  });

  const raise = (epoch: "historyEpoch" | "leaseEpoch") =>
    test.database.transaction(test.actor, (tx) =>
      tx
        .update(sandboxes)
        .set({ [epoch]: sql`${sandboxes[epoch]} + 1` })
        .where(eq(sandboxes.id, sandbox.sandboxId)),
    );

  it.each([
    ["the history was reset", "historyEpoch", "after it was written"],
    ["the history was reset", "historyEpoch", "before it is written"],
    ["another server has taken over", "leaseEpoch", "after it was written"],
    ["another server has taken over", "leaseEpoch", "before it is written"],
  ] as const)("commits nothing once %s (%s, %s), and leaves no object (12)", async (_what, epoch, when) => {
    await writeFile(await inSandbox("opencode-data", "opencode", "change.txt"), `before: ${epoch}, ${when}`);
    const interrupted = archivesOn({
      ...store,
      async write(...input) {
        if (when === "before it is written") await raise(epoch);
        const stored = await store.write(...input);
        if (when === "after it was written") await raise(epoch);
        return stored;
      },
    });
    const before = await keysWith("/history/");
    const fixed = await keysWith("opencode-history.tar.gz");
    await expect(interrupted.take(sandbox, { subject: history, signal: signal() })).rejects.toMatchObject({
      kind: "conflict",
    });
    // A server that was superseded changes no row: the others clean up after it.
    if (epoch === "leaseEpoch") {
      expect((await rowsOf("history"))[0]).toMatchObject({ state: "writing" });
      await archives.sweep(signal());
    }
    const cause = epoch === "historyEpoch" ? "reset" : "ended before";
    expect((await rowsOf("history"))[0]).toMatchObject({ state: "failed", cause: expect.stringContaining(cause) });
    expect(await keysWith("/history/")).toEqual(before);
    expect(await keysWith("opencode-history.tar.gz")).toEqual(fixed);
  });

  it("leaves verifying to the store's write, and looks at nothing again", async () => {
    await writeFile(await inSandbox("opencode-data", "opencode", "change.txt"), "to be verified once");
    const calls: string[] = [];
    const counting = new Proxy(store, {
      get(target, name: keyof FileStore) {
        calls.push(name);
        return target[name];
      },
    });
    const taken = await archivesOn(counting).take(sandbox, { subject: history, signal: signal() });
    expect(taken.outcome).toBe("verified");
    expect(calls.filter((name) => name !== "copy" && name !== "remove")).toEqual(["write"]);
  });

  it("commits nothing that the store keeps as other bytes, and leaves no object", async () => {
    await writeFile(await inSandbox("opencode-data", "opencode", "change.txt"), "to be damaged");
    async function* damaging(body: AsyncIterable<Uint8Array>) {
      yield* body;
      for (const name of await readdir(join(root, ".tmp"))) await truncate(join(root, ".tmp", name), 100);
    }
    const lying = archivesOn({ ...store, write: (key, body, until) => store.write(key, damaging(body), until) });
    const before = await keysWith("/history/");
    await expect(lying.take(sandbox, { subject: history, signal: signal() })).rejects.toMatchObject({
      kind: "upstream",
    });
    expect((await rowsOf("history"))[0]).toMatchObject({ state: "failed", cause: expect.stringContaining("bytes") });
    expect(await keysWith("/history/")).toEqual(before);
  });

  it("leaves nothing at the fixed key when the history is reset while it is copied there (12)", async () => {
    await writeFile(await inSandbox("opencode-data", "opencode", "change.txt"), "before the reset");
    const late = archivesOn({
      ...store,
      async copy(...input) {
        await raise("historyEpoch");
        await store.remove(newestHistoryKey(sandbox), signal());
        return store.copy(...input);
      },
    });
    await late.take(sandbox, { subject: history, signal: signal() });
    expect(await keysWith("opencode-history.tar.gz")).toEqual([]);
    // And nothing of the older epoch comes back, though its disk is lost.
    await sleepAndWake(async () => rm(await inSandbox("opencode-data"), { recursive: true }));
    expect(await readdir(await inSandbox("opencode-data", "opencode"))).not.toContain("change.txt");
  });

  it("cleans up what a server left that died before the commit, and refuses it should that come back", async () => {
    let goOn = () => {};
    const dead = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let written = () => {};
    const isWritten = new Promise<void>((resolve) => {
      written = resolve;
    });
    const dying = archivesOn({
      ...store,
      async write(...input) {
        const stored = await store.write(...input);
        written();
        await dead;
        return stored;
      },
    });
    await writeFile(await inSandbox("opencode-data", "opencode", "change.txt"), "before the death");
    const taking = dying.take(sandbox, { subject: history, signal: signal() });
    taking.catch(() => {});
    await isWritten;
    await archives.sweep(signal());
    const [row] = await rowsOf("history");
    expect(row?.state).toBe("writing");
    await sleepAndWake();
    await archives.sweep(signal());
    expect((await rowsOf("history")).find(({ id }) => id === row?.id)).toMatchObject({ state: "failed" });
    expect(await keysWith(row?.id ?? "")).toEqual([]);
    goOn();
    await expect(taking).rejects.toThrow();
    expect((await verifiedOf("history")).map(({ id }) => id)).not.toContain(row?.id);
  });
});

describe("waking", () => {
  it("brings a workspace back that is missing on the disk, and leaves one that is there as it is", async () => {
    await open();
    await writeFile(await inWorkspace("story.txt"), "as archived");
    await take(workspace());
    await writeFile(await inWorkspace("story.txt"), "younger than the archive");
    await sleepAndWake();
    await open();
    expect(await readFile(await inWorkspace("story.txt"), "utf8")).toBe("younger than the archive");
    // A workspace of this life again, so that it can be archived.
    expect((await take(workspace())).outcome).toBe("verified");

    await sleepAndWake(async () => rm(await inSandbox("sessions", sessionId), { recursive: true }));
    await open();
    expect(await readFile(await inWorkspace("story.txt"), "utf8")).toBe("younger than the archive");
  });

  it("takes the older snapshot where the newest is damaged in the store, and says when none is left", async () => {
    await open();
    for (const words of ["older", "newest"]) {
      await writeFile(await inWorkspace("story.txt"), words);
      await take(workspace());
    }
    const wipe = async () => rm(await inSandbox("sessions", sessionId), { recursive: true });
    const [newest, older] = await verifiedOf("workspace");
    const pathOf = (row: typeof newest) => join(root, row?.storeKey ?? "");
    await truncate(pathOf(newest), 100);
    await sleepAndWake(wipe);
    expect((await open()).note).toMatch(/^The newest snapshot .* is damaged .* The files are from /);
    expect(await readFile(await inWorkspace("story.txt"), "utf8")).toBe("older");
    // Said once: the disk is the newest there is from here on.
    await sleepAndWake();
    expect((await open()).note).toBeNull();

    // All of them gone is taken for a store that is not the right one.
    const rows = (await verifiedOf("workspace")).filter((row) => row.sessionId === sessionId);
    for (const row of rows) await rename(pathOf(row), `${pathOf(row)}.away`);
    await sleepAndWake(wipe);
    await expect(open()).rejects.toMatchObject({ kind: "unavailable" });
    await rename(`${pathOf(older)}.away`, pathOf(older));
    await truncate(pathOf(older), 100);
    expect((await open()).note).toMatch(/files are lost/);
    expect(await readdir(await inSandbox("sessions", sessionId))).not.toContain("story.txt");
  });
});

describe("waking the real agent", () => {
  beforeAll(() => {
    agent = "opencode";
  });

  it("takes the older history where the newest is damaged in the store, and says when none is left (7)", async () => {
    const note = await inSandbox("opencode-data", "opencode", "note.txt");
    await writeFile(note, "older");
    await take(history);
    await writeFile(note, "newer");
    await take(history);
    await test.database.transaction(test.actor, (tx) =>
      tx.update(sessions).set({ agentSessionId: "ses_test" }).where(eq(sessions.id, sessionId)),
    );
    const wipe = () => rm(join(note, ".."), { recursive: true });
    const [newest] = await verifiedOf("history");
    await truncate(join(root, newest?.storeKey ?? ""), 100);
    await sleepAndWake(wipe);
    expect(await readFile(note, "utf8")).toBe("older");
    expect(await memory()).toMatchObject({ memoryStatus: "restored" });

    for (const { storeKey } of await verifiedOf("history")) await appendFile(join(root, storeKey), "more");
    await sleepAndWake(wipe);
    const told = { cause: expect.stringContaining("could not be restored") };
    expect(await memory()).toMatchObject({ memoryStatus: "fresh", memoryCause: told.cause });
    expect(await test.readSandbox(sandbox.sandboxId)).toMatchObject({
      observedState: "running",
      stateCause: told.cause,
    });
  });

  const memory = () =>
    test.database.transaction(test.actor, async (tx) => {
      const [row] = await tx.select().from(sessions).where(eq(sessions.id, sessionId));
      return row;
    });
});
