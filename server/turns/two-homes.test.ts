import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ViewerState } from "../protocol/viewer-state.ts";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import { createSandboxPrograms } from "./test-programs.ts";
import { createTestServer, ended, ends, type Peer, type TestServer, textOf } from "./test-turns.ts";
import { createTestWords } from "./test-words.ts";

// One database and two machines, each with sandboxes that it alone can reach. The first one dies in the middle of a turn.
let server: TestServer;
let peer: Peer;
let sessionId: string;
let unsavedId: string;
let sandboxId: string;
const words = createTestWords();
const patience = { timeout: 90_000 };

beforeAll(async () => {
  server = await createTestServer({}, { demoPace: words });
  sessionId = await server.newSession();
  await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
  sandboxId = String((await sandboxes())[0]?.id);
  await writeFile(await workspaceOf(server.home, "kept.txt"), "before the snapshot");
  await server.wiring.loops.find(({ name }) => name === "archive-running")?.runNow();
  await writeFile(await workspaceOf(server.home, "late.txt"), "after the snapshot");
  unsavedId = await server.newSession();
  await server.prompt(unsavedId, "my name is Bo");
  await server.follow(unsavedId, ended());
  words.allow(20);
  await server.prompt(sessionId, "Give me a long text of 300 words");
  await server.follow(sessionId, (state) => textOf(state).length > 60);
  await server.leave();
  await server.goAway();
  words.allowAll();
  peer = await server.startPeer();
}, 120_000);
afterAll(async () => {
  await peer.close();
  await server.close();
}, 60_000);

const sandboxes = async () => [
  ...(await server.database.transaction(server.viewer, (tx) =>
    tx.execute(sql`select id, home_id, lease_epoch::integer as epoch from sandboxes order by created_at`),
  )),
];
const pathsOf = (home: string) => createSandboxPaths(home).of(sandboxId);
const workspaceOf = async (home: string, ...path: string[]) =>
  join((await pathsOf(home)).workspace, "sessions", sessionId, ...path);
const isAlive = async (home: string) => existsSync(join((await pathsOf(home)).directory, "life.json"));
const followThere = (id: string, until: (state: ViewerState) => boolean) =>
  server.follow(id, until, undefined, peer.services);
const promptThere = (id: string, prompt: string) =>
  peer.services.turns.start(server.viewer, { sessionId: id, prompt, idempotencyKey: crypto.randomUUID() });

describe("a sandbox of a machine that is away", () => {
  test("is left alone by another one: its turn stays, and what is sent waits", patience, async () => {
    const [before] = await sandboxes();
    await server.lapseLeases();
    const queued = await promptThere(sessionId, "my name is Cy");
    expect(queued.state).toBe("queued");
    for (let round = 0; round < 3; round += 1) await peer.services.turns.sweep();
    const state = await followThere(sessionId, (now) => now.session?.sandbox.away != null && ended()(now));
    expect(state.session).toMatchObject({
      sandbox: { away: { machine: expect.any(String), since: expect.any(String) } },
      runningTurnId: expect.any(String),
      queue: [{ id: queued.id, prompt: "my name is Cy" }],
    });
    expect(ends(state)).toHaveLength(1);
    expect(await sandboxes()).toEqual([before]);
    expect(existsSync(join(peer.home, "sandboxes", sandboxId))).toBe(false);
    expect(await isAlive(server.home)).toBe(true);
  });

  test("keeps nobody from beginning a session here, in a sandbox of this machine", patience, async () => {
    const { id } = await peer.services.sessions.create(server.viewer);
    await promptThere(id, "my name is New");
    expect(ends(await followThere(id, ended())).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
    const homes = (await sandboxes()).map(({ home_id }) => home_id);
    expect(new Set(homes).size).toBe(2);
  });

  test("goes on here from its snapshot, once somebody says so", patience, async () => {
    const [before] = await sandboxes();
    await peer.services.turns.continueHere(server.viewer, sessionId);
    const state = await followThere(sessionId, ended(3));
    expect(ends(state).map(({ body }) => body)).toMatchObject([
      { outcome: "finished" },
      // What ran there is not begun again: nobody knows how far it got.
      { outcome: "failed", code: "left-behind" },
      { outcome: "finished" },
    ]);
    const asked = state.entries.flatMap((entry) => (entry.kind === "prompt" ? [entry.body.text] : []));
    expect(asked).toEqual(["my name is Ada", "Give me a long text of 300 words", "my name is Cy"]);
    expect(state.session?.sandbox).toMatchObject({ away: null, state: "running" });
    expect(state.session?.memory.status).toBe("restored");
    expect(await readFile(await workspaceOf(peer.home, "kept.txt"), "utf8")).toBe("before the snapshot");
    expect(await readdir(await workspaceOf(peer.home))).not.toContain("late.txt");
    const [after] = await sandboxes();
    expect(after?.home_id).not.toBe(before?.home_id);
    expect(Number(after?.epoch)).toBeGreaterThan(Number(before?.epoch));
    // Again: it is here already.
    await peer.services.turns.continueHere(server.viewer, sessionId);
    expect((await sandboxes())[0]).toEqual(after);
  });

  test("begins with an empty workspace where nothing was saved", patience, async () => {
    await promptThere(unsavedId, "my name is Di");
    const state = await followThere(unsavedId, ended(2));
    expect(ends(state).at(-1)?.body).toEqual({ outcome: "finished" });
  });

  test("ends on its old machine when that is back, and its files are kept aside", patience, async () => {
    expect(await isAlive(server.home)).toBe(true);
    await server.start();
    expect(existsSync((await pathsOf(server.home)).directory)).toBe(false);
    const left = join(server.home, "sandboxes-left");
    const [name = ""] = await readdir(left);
    expect(name.startsWith(sandboxId)).toBe(true);
    const files = join(left, name, "workspace", "sessions", sessionId);
    expect(await readFile(join(files, "late.txt"), "utf8")).toBe("after the snapshot");
    // Through it the session goes on where it is now.
    await server.prompt(sessionId, "my name is Ed");
    const state = await server.follow(sessionId, ended(4));
    expect(ends(state).at(-1)?.body).toEqual({ outcome: "finished" });
    expect(existsSync((await pathsOf(server.home)).directory)).toBe(false);
  });

  test("cannot be moved while its machine is there", patience, async () => {
    const moving = server.services.turns.continueHere(server.viewer, sessionId);
    await expect(moving).rejects.toMatchObject({ kind: "conflict", message: expect.stringContaining("is back") });
  });
});

describe("a stop through another machine", () => {
  const stopThere = (id: string) => peer.services.turns.stop(server.viewer, id);
  const isMarked = async (id: string) => {
    const rows = await server.database.transaction(server.viewer, (tx) =>
      tx.execute(sql`select from sessions where id = ${id} and abort_unconfirmed_at is not null`),
    );
    return rows.length > 0;
  };
  const programs = () => createSandboxPrograms(server.home);

  async function beginWork(seconds: number): Promise<string> {
    const id = await server.newSession();
    await server.prompt(id, `run \`sleep ${seconds}\``);
    await expect.poll(() => programs().runs(`sleep ${seconds}`), { timeout: 30_000 }).toBe(true);
    return id;
  }

  test("is left to that of the sandbox while it is there", patience, async () => {
    const id = await beginWork(987_020);
    await stopThere(id);
    expect(ends(await followThere(id, ended())).map(({ body }) => body)).toEqual([{ outcome: "stopped" }]);
    expect(programs().runs("sleep 987020")).toBe(false);
  });

  test("ends the turn while that is away, and what its agent does once it is back", patience, async () => {
    const id = await beginWork(987_021);
    await server.leave();
    await server.goAway();
    const queued = await promptThere(id, "my name is Fay");
    expect(await stopThere(id)).toBe(true);
    const state = await followThere(id, ended());
    const untold = { outcome: "stopped", untold: true, machine: hostname() };
    expect(ends(state).map(({ body }) => body)).toEqual([untold]);
    expect(state.entries.filter(({ open }) => open)).toEqual([]);
    const waiting = await followThere(id, ({ session }) => session?.runningTurnId === null);
    expect(waiting.session).toMatchObject({ sandbox: { away: {} }, queue: [{ id: queued.id }] });
    // Of one that no agent has heard of there is nothing to tell.
    expect(await stopThere(id)).toBe(true);
    expect(ends(await followThere(id, ended(2))).map(({ body }) => body)).toEqual([untold, { outcome: "stopped" }]);
    await peer.services.turns.sweep();
    expect(await isMarked(id)).toBe(true);
    expect(programs().runs("sleep 987021")).toBe(true);

    await server.start();
    await expect.poll(() => programs().runs("sleep 987021"), { timeout: 30_000 }).toBe(false);
    await expect.poll(() => isMarked(id), { timeout: 30_000 }).toBe(false);
    await server.prompt(id, "my name is Gil");
    expect(ends(await server.follow(id, ended(3))).at(-1)?.body).toEqual({ outcome: "finished" });
  });
});
