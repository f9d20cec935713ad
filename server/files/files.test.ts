import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import { createTestServer, ended, type TestServer } from "../turns/test-turns.ts";

// Everything is real: server, sandbox, sidecar, file store.
let server: TestServer;
let sessionId: string;
let directory: string;
beforeAll(async () => {
  server = await createTestServer();
  sessionId = await server.newSession();
  await server.prompt(sessionId, "hello");
  await server.follow(sessionId, ended());
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.execute<{ sandbox_id: string }>(sql`select sandbox_id from sessions where id = ${sessionId}`),
  );
  const { workspace } = await createSandboxPaths(server.home).of(row?.sandbox_id ?? "");
  directory = join(workspace, "sessions", sessionId);
}, 120_000);
afterAll(async () => {
  await server.close();
}, 60_000);

const signal = () => AbortSignal.timeout(60_000);
const list = async (path: string) =>
  (await server.services.files.list(server.viewer, { sessionId, path, signal: signal() })).entries;
const read = async (path: string) => {
  const file = await server.services.files.read(server.viewer, { sessionId, path, range: null, signal: signal() });
  return text(file.body);
};
const move = (from: string, to: string) =>
  server.services.files.move(server.viewer, { sessionId, from, to, signal: signal() });
const remove = (path: string) => server.services.files.remove(server.viewer, { sessionId, path, signal: signal() });

const names = [
  "quote's \" and %ff # ? + & \\ ; 100%.txt",
  "line\nbreak\ttab.txt",
  "--help",
  "..leading dots",
  "  blanks  ",
  "\u202egnp.exe",
  "a\u00e9",
  "ae\u0301",
  "a\ufffde9",
  "a\ufffde8",
  "a\ufffdef\ufffdbf\ufffdbde9",
];
/** As they lie on the disk, from how they are written. */
const bytesOf = (name: string) => {
  const latin1 = name.split(/\ufffd(..)/).map((part, index) => Buffer.from(part, index % 2 ? "hex" : "utf8"));
  return Buffer.concat([Buffer.from(`${directory}/names/`), ...latin1]);
};

test("files of any name are listed, read, moved, deleted and restored, each its own", {
  timeout: 120_000,
}, async () => {
  await mkdir(join(directory, "names"));
  // The sandbox may be another user.
  await chmod(join(directory, "names"), 0o777);
  for (const name of names) await writeFile(bytesOf(name), `this is ${name}`);
  const all = () => list("names").then((entries) => entries.map(({ name }) => name).sort());
  expect(await all()).toEqual([...names].sort());
  for (const name of names) expect(await read(`names/${name}`)).toBe(`this is ${name}`);

  const { snapshots } = server.services;
  const { snapshotId } = await snapshots.take(server.viewer, { sessionId, signal: signal() });
  const chosen = { sessionId, snapshotId: snapshotId ?? "", signal: signal() };
  const { entries } = await snapshots.listFiles(server.viewer, chosen);
  const kept = entries.map(({ path }) => path).filter((path) => path.startsWith("names/"));
  expect(kept.sort()).toEqual(names.map((name) => `names/${name}`).sort());
  for (const name of names) {
    const file = await snapshots.readFile(server.viewer, { ...chosen, path: `names/${name}` });
    expect((await buffer(file.body)).toString()).toBe(`this is ${name}`);
  }

  for (const name of names) {
    await move(`names/${name}`, `names/deeper/moved ${name}`);
    expect(await read(`names/deeper/moved ${name}`)).toBe(`this is ${name}`);
  }
  expect(await all()).toEqual(["deeper"]);
  await remove(`names/deeper/moved ${names[0]}`);
  expect(await list("names/deeper")).toHaveLength(names.length - 1);
  await remove("names");
  await expect(list("names")).rejects.toMatchObject({ kind: "not-found" });

  await snapshots.restore(server.viewer, chosen);
  expect(await all()).toEqual([...names].sort());
  for (const name of names) expect((await readFile(bytesOf(name))).toString()).toBe(`this is ${name}`);
});

test.each([
  ["a name that is there already", "mine.txt", "theirs.txt", "conflict"],
  ["what is not there", "nowhere.txt", "other.txt", "not-found"],
  ["out of the session", "mine.txt", "../other.txt", "invalid-input"],
  ["into itself", "folder", "folder/inside", "invalid-input"],
  ["the whole directory", "", "other", "invalid-input"],
  ["onto the directory", "mine.txt", ".", "invalid-input"],
  ["the repository", ".git/config", "config", "forbidden"],
  ["a name that nothing is written as", "mine.txt", "bad\ufffd", "invalid-input"],
  ["half a character", "mine.txt", "bad\ud800", "invalid-input"],
  ["a name that is too long", "mine.txt", "x".repeat(256), "invalid-input"],
])("moving %s is refused, and nothing has changed", async (_what, from, to, kind) => {
  await mkdir(join(directory, "folder"), { recursive: true });
  await writeFile(join(directory, "mine.txt"), "mine");
  await writeFile(join(directory, "theirs.txt"), "theirs");
  await expect(move(from, to)).rejects.toMatchObject({ kind });
  expect(await read("mine.txt")).toBe("mine");
  expect(await read("theirs.txt")).toBe("theirs");
});

test.each([
  ["", "invalid-input"],
  [".", "invalid-input"],
  [".git", "forbidden"],
  ["nowhere", "not-found"],
  ["../x", "invalid-input"],
])("deleting “%s” is refused: %s", async (path, kind) => {
  await expect(remove(path)).rejects.toMatchObject({ kind });
});

test("what went wrong names files as the person knows them, and another person's are not there", async () => {
  await expect(remove("not there.txt")).rejects.toThrow("There is no not there.txt in the workspace.");
  const stranger = { ...server.viewer, userId: crypto.randomUUID() as typeof server.viewer.userId };
  const input = { sessionId, path: "mine.txt", signal: signal() };
  await expect(server.services.files.remove(stranger, input)).rejects.toMatchObject({ kind: "not-found" });
  await expect(
    server.services.files.move(stranger, { sessionId, from: "mine.txt", to: "yours.txt", signal: signal() }),
  ).rejects.toMatchObject({ kind: "not-found" });
});
