import { createHash } from "node:crypto";
import { readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { and, desc, eq, gt } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { archives, sessions } from "../../db/schema/index.ts";
import { archiveOf, run } from "../../sidecar/archive/test-archives.ts";
import type { LogEntry } from "../protocol/log-entry.ts";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import { createTestServer, ended, type TestServer, textOf } from "../turns/test-turns.ts";

// Everything is real: the server as it is wired, its sandbox, opencode, the demo model.
let server: TestServer;
beforeAll(async () => {
  server = await createTestServer();
}, 120_000);
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 240_000 };
const stateOf = (sessionId: string) => server.services.log.state(server.viewer, sessionId);
const notesIn = ({ entries }: { entries: readonly LogEntry[] }) =>
  entries.flatMap((entry) => (entry.kind === "memory-note" ? [entry.body] : []));

async function tellName(name: string): Promise<string> {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, `Remember that my name is ${name}.`);
  await server.follow(sessionId, ended());
  return sessionId;
}

async function askName(sessionId: string, turns: number) {
  await server.prompt(sessionId, "What is my name?");
  return server.follow(sessionId, ended(turns));
}

async function sandboxOf(sessionId: string, ...path: string[]): Promise<string> {
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.select().from(sessions).where(eq(sessions.id, sessionId)),
  );
  return join((await createSandboxPaths(server.home).of(row?.sandboxId ?? "")).workspace, ...path);
}

/** Of the history, or of a session's workspace. */
function newestArchive(subject: string) {
  return server.database.transaction(server.viewer, async (tx) => {
    const wanted = subject === "history" ? eq(archives.kind, subject) : eq(archives.sessionId, subject);
    const verified = and(wanted, eq(archives.state, "verified"));
    const [row] = await tx.select().from(archives).where(verified).orderBy(desc(archives.createdAt)).limit(1);
    return row;
  });
}

async function removeHistoriesAfter(row: { createdAt: Date } | undefined): Promise<void> {
  const later = and(eq(archives.kind, "history"), gt(archives.createdAt, row?.createdAt ?? new Date()));
  await server.database.transaction(server.viewer, (tx) => tx.delete(archives).where(later));
}

/** As every 15 minutes. */
async function archive(...subjects: string[]): Promise<void> {
  const newest = () => Promise.all(subjects.map(async (subject) => (await newestArchive(subject))?.id));
  const before = await newest();
  await server.wiring.loops.find(({ name }) => name === "archive-running")?.runNow();
  const after = await newest();
  expect(after.filter((id, index) => id === before[index])).toEqual([]);
}

/** Puts other bytes into the store as if they had been archived. */
async function forgeNewest(content: Buffer): Promise<void> {
  const row = await newestArchive("history");
  await writeFile(join(server.home, "store", row?.storeKey ?? ""), content);
  const sha256 = createHash("sha256").update(content).digest("hex");
  await server.database.transaction(server.viewer, (tx) =>
    tx
      .update(archives)
      .set({ sha256, checksum: null, bytes: content.length })
      .where(eq(archives.id, row?.id ?? "")),
  );
}

test(
  "a corrupt memory is set aside; every session and the admin are told why, and nothing said is lost (7)",
  patience,
  async () => {
    const first = await tellName("Ada Lovelace");
    const second = await tellName("Grace Hopper");
    await archive("history");
    const garbage = "this is not a database ".repeat(1_000);
    const history = await sandboxOf(first, "opencode-data");
    await server.sleepAndWake(async () => {
      await forgeNewest(archiveOf([{ name: ".opencode-data/opencode/opencode.db", content: garbage }]));
      await rm(history, { recursive: true });
    });

    const told = await askName(first, 2);
    const cause = expect.stringMatching(/memory could not be restored: .*not a database/);
    expect(textOf(told)).toContain("Your name is Ada Lovelace.");
    expect(notesIn(told)).toEqual([{ status: "replayed", message: cause }]);
    expect((await stateOf(first))?.memory).toMatchObject({ status: "replayed", cause, at: expect.any(String) });
    // The other one was not asked yet: it shows what is known, and its log follows with its next turn.
    expect((await stateOf(second))?.memory).toMatchObject({ status: "fresh", cause });
    const [sandbox] = await server.services.sandboxes.list(server.viewer, "tenant");
    expect(sandbox).toMatchObject({ state: "running", cause });

    // Also after another sleep, which itself had nothing to tell.
    await server.sleepAndWake(async () => {});
    const later = await askName(second, 2);
    expect(textOf(later)).toContain("Your name is Grace Hopper.");
    expect(notesIn(later)).toEqual([{ status: "replayed", message: cause }]);
    // Told once: the session is one like any other from here on.
    expect(notesIn(await askName(second, 3))).toHaveLength(1);
  },
);

test("a memory that ends before the last turn is filled up from the log", patience, async () => {
  const sessionId = await tellName("Mary Shelley");
  await archive("history");
  const archived = await newestArchive("history");
  await server.prompt(sessionId, "Remember that my name is Ada Lovelace.");
  await server.follow(sessionId, ended(2));
  const history = await sandboxOf(sessionId, "opencode-data");
  await server.sleepAndWake(async () => {
    // As after a crash of everything at once: the last turn is in no archive.
    await removeHistoriesAfter(archived);
    await rm(history, { recursive: true });
  });
  const state = await askName(sessionId, 3);
  expect(textOf(state)).toContain("Your name is Ada Lovelace.");
  const note = { status: "replayed", message: expect.stringContaining("restored from its archive of") };
  expect(notesIn(state)).toEqual([note]);
  // One whose last turn is in the archive goes on as it was.
  await archive("history");
  await server.sleepAndWake(() => rm(history, { recursive: true }));
  expect(notesIn(await askName(sessionId, 4))).toHaveLength(1);
  expect((await stateOf(sessionId))?.memory.status).toBe("restored");
});

test("a disk that was set back is noticed: the archive takes its place, and it is kept", patience, async () => {
  const sessionId = await tellName("Mary Shelley");
  const root = await sandboxOf(sessionId);
  const story = join(root, "sessions", sessionId, "story.txt");
  await writeFile(story, "old words");
  await archive("history", sessionId);
  // With its owners.
  await server.sleepAndWake(async () => void (await run("cp", ["-a", root, `${root}-old`])));
  await server.prompt(sessionId, "Remember that my name is Ada Lovelace.");
  await server.follow(sessionId, ended(2));
  await writeFile(story, "new words");
  await archive("history", sessionId);
  await server.sleepAndWake(async () => {
    await rename(root, `${root}-new`);
    await rename(`${root}-old`, root);
  });
  const state = await askName(sessionId, 3);
  expect(textOf(state)).toContain("Your name is Ada Lovelace.");
  expect(notesIn(state)).toEqual([]);
  expect((await stateOf(sessionId))?.memory).toMatchObject({
    status: "restored",
    cause: expect.stringContaining("disk was older"),
  });
  expect(await readFile(story, "utf8")).toBe("new words");
  const [aside = ""] = await readdir(join(root, "managed/replaced", sessionId));
  expect(await readFile(join(root, "managed/replaced", sessionId, aside, "story.txt"), "utf8")).toBe("old words");
  expect(await readdir(join(root, "managed/replaced/history"))).toHaveLength(1);
  const told = state.entries.flatMap((entry) => (entry.kind === "error" ? [entry.body.message] : []));
  expect(told).toEqual([expect.stringMatching(/disk was older than the newest snapshot.*set aside/)]);
  // And not again: from here on the disk is the newest there is.
  await server.sleepAndWake(async () => {});
  await writeFile(story, "newer words");
  await askName(sessionId, 4);
  expect(await readFile(story, "utf8")).toBe("newer words");
});

test("a machine that failed before its disk was flushed loses nothing that was archived", patience, async () => {
  const sessionId = await tellName("Mary Shelley");
  const root = await sandboxOf(sessionId);
  const story = join(root, "sessions", sessionId, "story.txt");
  await writeFile(story, "archived words");
  await archive("history", sessionId);
  await server.sleepAndWake(async () => {
    // What a file system may have kept: names, and nothing in the files.
    await truncate(story);
    const database = join(root, "opencode-data/opencode/opencode.db");
    for (const path of [database, `${database}-wal`]) await truncate(path).catch(() => {});
    for (const subject of ["history", sessionId]) {
      const path = join(root, "managed/archives", `${subject}.json`);
      const known = JSON.parse(await readFile(path, "utf8"));
      await writeFile(path, JSON.stringify({ ...known, unflushed: { [known.archives[0]]: "another boot" } }));
    }
  });
  const state = await askName(sessionId, 2);
  expect(textOf(state)).toContain("Your name is Mary Shelley.");
  expect(await readFile(story, "utf8")).toBe("archived words");
  expect((await stateOf(sessionId))?.memory.status).toBe("restored");
});
