import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextRound } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { createSidecarArchives, type SidecarArchives } from "../../server/snapshots/sidecar-archives.ts";
import { archiveOf, chunksOf, run, withFolder } from "../archive/test-archives.ts";
import {
  collectEvents,
  createAgentSession,
  createTestSandbox,
  deadline,
  isIdle,
  prompt,
  type TestBoot,
  type TestSandbox,
  waitUntil,
} from "../test-sidecar.ts";

let sandboxes: TestSandbox[] = [];
afterEach(async () => {
  for (const sandbox of sandboxes) await sandbox.remove();
  sandboxes = [];
});

interface Booted {
  sandbox: TestSandbox;
  boot: TestBoot;
  archives: SidecarArchives;
  history: string;
  home: string;
}

/** `idle`: with a program instead of the agent that does nothing, so that tests have the files to themselves. */
async function start({ idle = false, on }: { idle?: boolean; on?: TestSandbox } = {}): Promise<Booted> {
  const sandbox = on ?? (await createTestSandbox());
  if (!on) sandboxes.push(sandbox);
  const programs = { ...sandbox.launch.programs, ...(idle ? { opencode: "/bin/false" } : {}) };
  const boot = await sandbox.boot({ programs });
  return {
    sandbox,
    boot,
    archives: createSidecarArchives(boot.client),
    history: join(sandbox.workspace, "opencode-data"),
    home: join(sandbox.workspace, "home"),
  };
}

async function gather(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function taken({ archives }: Booted) {
  const made = await archives.createHistory({ sink: gather, signal: deadline() });
  if (made.outcome !== "made") throw new Error(`not made: ${made.outcome}`);
  return made;
}

const restore = ({ archives }: Booted, bytes: Uint8Array) =>
  archives.restoreHistory({ body: chunksOf(bytes), signal: deadline() });

async function databaseBytes(rows = 100): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  await withFolder(async (folder) => {
    makeDatabase(join(folder, "x.db"), rows).close();
    bytes = await readFile(join(folder, "x.db"));
  });
  return bytes;
}

function makeDatabase(path: string, rows: number): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT)");
  const insert = database.prepare("INSERT INTO notes (text) VALUES (?)");
  for (let row = 0; row < rows; row += 1) insert.run("x".repeat(200));
  return database;
}

async function unpacked(archive: Buffer, use: (folder: string, names: string[]) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await writeFile(join(folder, "a"), archive);
    await run("tar", ["xzf", join(folder, "a"), "-C", folder]);
    await use(folder, (await run("tar", ["tzf", join(folder, "a")])).stdout.trim().split("\n"));
  });
}

const archiveWith = (content: Buffer | string) =>
  archiveOf([
    { name: "unrelated/readme", content: "ignored" },
    { name: ".opencode-data/opencode/opencode.db", content },
    { name: ".opencode-data/opencode/storage/x.json", content: "{}" },
  ]);

describe("the agent's history", () => {
  it("moves, taken from a running agent, into another sandbox whose agent remembers", {
    timeout: 120_000,
  }, async () => {
    const first = await start();
    await expect(first.archives.createHistory({ sink: gather, signal: deadline() })).rejects.toMatchObject({
      kind: "conflict",
    });
    await first.boot.wake();
    const session = await createAgentSession(first.boot.client);
    await prompt(first.boot.client, session.id, "@@text remembered");
    await collectEvents(first.boot.client, 0, isIdle);
    const { stored } = await taken(first);
    await unpacked(stored, async (folder, names) => {
      expect(names).toEqual(expect.arrayContaining([".opencode-data/", ".opencode-data/opencode/opencode.db"]));
      expect(names.filter((name) => /-(wal|shm)$|\/log/.test(name))).toEqual([]);
      expect(names.filter((name) => !name.startsWith(".opencode-data/"))).toEqual([]);
      const database = new DatabaseSync(join(folder, ".opencode-data/opencode/opencode.db"));
      expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      database.close();
    });
    const second = await start();
    expect(await restore(second, stored)).toMatchObject({ outcome: "restored", cause: null });
    expect((await second.boot.client.health(deadline())).gate).toBe("open");
    await second.boot.client.waitForAgent(deadline());
    const path = `/agent/session/${session.id}/message`;
    const messages = await second.boot.client.json<unknown[]>({ method: "GET", path, signal: deadline() });
    expect(JSON.stringify(messages)).toContain("remembered");
    // Invariant 6: once it runs, nothing is put under it.
    expect(await restore(second, stored)).toMatchObject({ outcome: "kept" });
    expect(await second.archives.restoreHome({ body: chunksOf(Buffer.alloc(0)), signal: deadline() })).toMatchObject({
      outcome: "kept",
    });
  });

  it("is coherent while it is being written to", async () => {
    const booted = await start({ idle: true });
    await mkdir(join(booted.history, "opencode"), { recursive: true });
    await booted.boot.client.markRestored(deadline());
    const database = makeDatabase(join(booted.history, "opencode/opencode.db"), 3_000);
    let writing = true;
    const writer = (async () => {
      while (writing) {
        // Always ten at once: a copy with another number saw half of a transaction.
        database.exec(`BEGIN; ${"INSERT INTO notes (text) VALUES ('more');".repeat(10)} COMMIT`);
        await nextRound();
      }
    })();
    const { stored } = await taken(booted);
    writing = false;
    await writer;
    database.close();
    await unpacked(stored, async (folder) => {
      const copy = new DatabaseSync(join(folder, ".opencode-data/opencode/opencode.db"));
      const { count } = copy.prepare("SELECT count(*) AS count FROM notes").get() as { count: number };
      expect(count).toBeGreaterThanOrEqual(3_000);
      expect(count % 10).toBe(0);
      copy.close();
    });
  });

  it("is not archived when there is none, nor again while it is unchanged", async () => {
    const booted = await start({ idle: true });
    await booted.boot.client.markRestored(deadline());
    const signal = deadline();
    expect(await booted.archives.createHistory({ sink: gather, signal })).toEqual({ outcome: "empty" });
    await mkdir(join(booted.history, "opencode/log"), { recursive: true });
    await writeFile(join(booted.history, "opencode/log/today"), "noise");
    expect(await booted.archives.createHistory({ sink: gather, signal })).toEqual({ outcome: "empty" });
    const database = makeDatabase(join(booted.history, "opencode/opencode.db"), 10);
    let unless = "";
    const again = () => booted.archives.createHistory({ sink: gather, unless, signal });
    await waitUntil(async () => {
      unless = (await taken(booted)).note.fingerprint;
      return (await again()).outcome === "unchanged";
    }, "a steady history");
    await writeFile(join(booted.history, "opencode/log/today"), "more noise");
    expect((await again()).outcome).toBe("unchanged");
    // Shows in the log that is not archived, not in the database's own file.
    database.exec("INSERT INTO notes (text) VALUES ('new')");
    expect((await again()).outcome).toBe("made");
    database.close();
  });

  it("that was restored is not archived again while nobody touched it", async () => {
    const booted = await start({ idle: true });
    const archive = archiveOf([
      { kind: "directory", name: ".opencode-data", mode: 0o755 },
      { kind: "directory", name: ".opencode-data/opencode", mode: 0o755 },
      { name: ".opencode-data/opencode/opencode.db", content: await databaseBytes(50) },
    ]);
    const answer = await restore(booted, archive);
    expect(answer.outcome).toBe("restored");
    const unless = answer.fingerprint ?? "";
    const again = () => booted.archives.createHistory({ sink: gather, unless, signal: deadline() });
    await waitUntil(async () => (await again()).outcome === "unchanged", "a history that is known as it was restored");
    makeDatabase(join(booted.history, "opencode/second.db"), 1).close();
    expect((await again()).outcome).toBe("made");
  });

  it.each([
    ["garbage", () => Promise.resolve(Buffer.from("this is not a database ".repeat(1_000)))],
    ["cut", async () => (await databaseBytes(2_000)).subarray(0, 60_000)],
    [
      "damaged inside",
      async () => {
        const bytes = await databaseBytes(2_000);
        return bytes.fill(0xaa, 4_096 * 3, 4_096 * 40);
      },
    ],
  ])("that is restored with a database that is %s is set aside, and the agent starts fresh", async (_what, damaged) => {
    const booted = await start({ idle: true });
    const answer = await restore(booted, archiveWith(await damaged()));
    expect(answer).toMatchObject({ outcome: "fresh", cause: expect.stringMatching(/\w/), fingerprint: null });
    expect(await readdir(booted.history)).toEqual([]);
    const aside = join(booted.sandbox.workspace, "managed/damaged-history");
    expect(await readdir(aside)).toHaveLength(1);
    expect(booted.boot.output()).toContain("damaged and was set aside");
    expect((await booted.boot.client.health(deadline())).gate).toBe("open");
  });

  it("sets aside no more than two", async () => {
    const sandbox = await createTestSandbox();
    sandboxes.push(sandbox);
    for (let round = 0; round < 3; round += 1) {
      const booted = await start({ idle: true, on: sandbox });
      expect((await restore(booted, archiveWith("garbage ".repeat(100)))).outcome).toBe("fresh");
      const exited = once(booted.boot.child, "exit");
      booted.boot.child.kill("SIGKILL");
      await exited;
    }
    expect(await readdir(join(sandbox.workspace, "managed/damaged-history"))).toHaveLength(2);
  });

  it("is not archived from wherever a link leads that stands there instead", async () => {
    const booted = await start({ idle: true });
    await booted.boot.client.markRestored(deadline());
    await rm(booted.history, { recursive: true });
    expect(await booted.archives.createHistory({ sink: gather, signal: deadline() })).toEqual({ outcome: "empty" });
    await symlink("/etc", booted.history);
    await expect(taken(booted)).rejects.toMatchObject({ kind: "conflict" });
  });

  it("that is damaged while it lives is not archived over a good one", async () => {
    const booted = await start({ idle: true });
    await booted.boot.client.markRestored(deadline());
    await mkdir(join(booted.history, "opencode"), { recursive: true });
    await writeFile(join(booted.history, "opencode/opencode.db"), "not a database ".repeat(500));
    await expect(taken(booted)).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("database"),
    });
  });

  it("is restored whole, with a log that was not merged, and without what is unrelated", async () => {
    const booted = await start({ idle: true });
    let log = Buffer.alloc(0);
    let content = Buffer.alloc(0);
    await withFolder(async (folder) => {
      const database = makeDatabase(join(folder, "x.db"), 50);
      content = await readFile(join(folder, "x.db"));
      log = await readFile(join(folder, "x.db-wal"));
      database.close();
    });
    const archive = archiveOf([
      { name: "unrelated", content: "x" },
      { name: ".opencode-data/opencode/opencode.db", content },
      { name: ".opencode-data/opencode/opencode.db-wal", content: log },
      { name: ".opencode-data/opencode/opencode.db-shm", content: "stale" },
    ]);
    expect(await restore(booted, archive)).toMatchObject({ outcome: "restored" });
    expect(await readdir(booted.history)).toEqual(["opencode"]);
    const database = new DatabaseSync(join(booted.history, "opencode/opencode.db"));
    expect(database.prepare("SELECT count(*) AS count FROM notes").get()).toEqual({ count: 50 });
    database.close();
  });

  it("is not touched by an archive that is refused; the gate stays closed and the next one is taken", async () => {
    const booted = await start({ idle: true });
    await writeFile(join(booted.history, "mine"), "mine");
    const bad = archiveOf([{ name: ".opencode-data/x" }, { name: ".opencode-data/../../y" }]);
    await expect(restore(booted, bad)).rejects.toMatchObject({ kind: "invalid-input" });
    expect(await readdir(booted.history)).toEqual(["mine"]);
    expect((await booted.boot.client.health(deadline())).gate).toBe("closed");
    expect((await restore(booted, archiveWith(await databaseBytes()))).outcome).toBe("restored");
    expect(await readdir(booted.history)).toEqual(["opencode"]);
  });

  it("that was being restored when the sidecar was killed is clean at the next start", async () => {
    const booted = await start({ idle: true });
    await writeFile(join(booted.history, "mine"), "mine");
    const begun = Promise.withResolvers<void>();
    const stuck = (async function* () {
      yield archiveWith(await databaseBytes()).subarray(0, 400);
      begun.resolve();
      await once(deadline(), "abort").catch(() => {});
      yield Buffer.alloc(0);
    })();
    const sending = booted.archives.restoreHistory({ body: stuck, signal: deadline() });
    sending.catch(() => {});
    await begun.promise;
    const staging = join(booted.sandbox.workspace, ".dormouse-opencode-data.new");
    await waitUntil(async () => (await stat(staging).catch(() => null)) !== null, "the staging");
    // Meanwhile the agent cannot be started beside it.
    await expect(booted.boot.client.markRestored(deadline())).rejects.toMatchObject({ kind: "conflict" });
    const exited = once(booted.boot.child, "exit");
    booted.boot.child.kill("SIGKILL");
    await expect(sending).rejects.toMatchObject({ kind: "unavailable" });
    await exited;
    const next = await start({ idle: true, on: booted.sandbox });
    expect(await readdir(next.history)).toEqual(["mine"]);
    expect((await readdir(next.sandbox.workspace)).filter((name) => name.startsWith("."))).toEqual([]);
    expect((await next.boot.client.health(deadline())).gate).toBe("closed");
    expect((await restore(next, archiveWith(await databaseBytes()))).outcome).toBe("restored");
  });

  it("is restored once in a boot, also when the sidecar is started again in it", async () => {
    const booted = await start({ idle: true });
    const bootId = randomUUID();
    const exited = once(booted.boot.child, "exit");
    booted.boot.child.kill("SIGTERM");
    await exited;
    const boots = async () => {
      const programs = { ...booted.sandbox.launch.programs, opencode: "/bin/false" };
      const boot = await booted.sandbox.boot({ bootId, programs });
      return { ...booted, boot, archives: createSidecarArchives(boot.client) };
    };
    const first = await boots();
    expect((await restore(first, archiveWith(await databaseBytes()))).outcome).toBe("restored");
    await writeFile(join(first.history, "since"), "written since");
    const killed = once(first.boot.child, "exit");
    first.boot.child.kill("SIGKILL");
    await killed;
    const second = await boots();
    expect((await second.boot.client.health(deadline())).gate).toBe("closed");
    expect(await restore(second, archiveWith(await databaseBytes()))).toMatchObject({ outcome: "kept" });
    expect(await readFile(join(second.history, "since"), "utf8")).toBe("written since");
    expect((await second.boot.client.health(deadline())).gate).toBe("open");
  });
});

describe("HOME", () => {
  it("travels as an archive of its own, without caches", async () => {
    const first = await start({ idle: true });
    await first.boot.client.markRestored(deadline());
    expect(await first.archives.createHome({ sink: gather, signal: deadline() })).toEqual({ outcome: "empty" });
    for (const name of [".config/tool", ".cache/x", ".npm/_cacache", ".cargo/registry/src", ".cargo/bin", ".ssh"]) {
      await mkdir(join(first.home, name), { recursive: true });
      await writeFile(join(first.home, name, "file"), name, { mode: 0o600 });
    }
    await symlink("/etc/hostname", join(first.home, "outside"));
    const made = await first.archives.createHome({ sink: gather, signal: deadline() });
    if (made.outcome !== "made") throw new Error("not made");
    const second = await start({ idle: true });
    await writeFile(join(second.home, "older"), "replaced");
    const restored = await second.archives.restoreHome({ body: chunksOf(made.stored), signal: deadline() });
    expect(restored.outcome).toBe("restored");
    expect((await readdir(second.home)).sort()).toEqual([".cargo", ".config", ".ssh"]);
    expect(await readdir(join(second.home, ".cargo"))).toEqual(["bin"]);
    expect((await stat(join(second.home, ".ssh/file"))).mode & 0o777).toBe(0o600);
    // The gate is the history's to open.
    expect((await second.boot.client.health(deadline())).gate).toBe("closed");
    await second.boot.client.markRestored(deadline());
    const unless = restored.fingerprint;
    expect(await second.archives.createHome({ sink: gather, unless, signal: deadline() })).toEqual({
      outcome: "unchanged",
    });
    await unpacked(made.stored, async (folder) => {
      const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8"));
      // The agent may have begun to configure itself by then.
      const leftOut = manifest.leftOut.filter(({ path }: { path: string }) => !path.startsWith(".config/opencode/"));
      expect(leftOut).toEqual([
        { path: ".cache", reason: "regenerable" },
        { path: ".cargo/registry", reason: "regenerable" },
        { path: ".npm", reason: "regenerable" },
        { path: "outside", reason: "link-leads-out" },
      ]);
    });
  });
});
