import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { ViewerState } from "../protocol/viewer-state.ts";
import { createSandboxPaths } from "../sandboxes/backends/local/sandbox-paths.ts";
import { createSidecarClient } from "../sandboxes/create-sidecar-client.ts";
import { createTestServer, ended, ends, type TestServer } from "../turns/test-turns.ts";

// Everything is real: server, sandbox, sidecar, agent. A held archive is one of so many files that it goes on for as
// long as the test wants.
let server: TestServer;
let sessionId: string;
let held: Held | null = null;

interface Held {
  path: string;
  begun: PromiseWithResolvers<void>;
  released: PromiseWithResolvers<void>;
}

/** The next stream to or from that path of the sidecar stands still after its first piece. */
function hold(path: string): Held {
  held = { path, begun: Promise.withResolvers(), released: Promise.withResolvers() };
  return held;
}

async function* pausing<Chunk>(body: AsyncIterable<Chunk>, path: string): AsyncGenerator<Chunk> {
  const mine = held && path.startsWith(held.path) ? held : null;
  for await (const chunk of body) {
    yield chunk;
    mine?.begun.resolve();
    await mine?.released.promise;
  }
}

const pausingClient: typeof createSidecarClient = (options) => {
  const client = createSidecarClient(options);
  return {
    ...client,
    upload: (request) => client.upload({ ...request, body: pausing(request.body, request.path) }),
    async download(request) {
      const answer = await client.download(request);
      return { ...answer, body: pausing(answer.body, request.path) };
    },
  };
};

beforeAll(async () => {
  server = await createTestServer({}, { createSidecarClient: pausingClient });
  sessionId = await server.newSession();
  await server.prompt(sessionId, "hello");
  await server.follow(sessionId, ended());
  // More than all buffers on the way hold.
  await writeFile(await inWorkspace("large.bin"), randomBytes(24_000_000));
}, 120_000);
afterEach(() => held?.released.resolve());
afterAll(async () => {
  await server.close();
}, 60_000);

const signal = () => AbortSignal.timeout(60_000);
const archiveRunning = () => server.wiring.loops.find(({ name }) => name === "archive-running")?.runNow();

async function inWorkspace(name: string): Promise<string> {
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.execute<{ sandbox_id: string }>(sql`select sandbox_id from sessions where id = ${sessionId}`),
  );
  const { workspace } = await createSandboxPaths(server.home).of(row?.sandbox_id ?? "");
  return join(workspace, "sessions", sessionId, name);
}

async function turnsSoFar(): Promise<number> {
  return (await server.services.turns.list(server.viewer, sessionId)).turns.length;
}

const lastEnd = (state: ViewerState) => ends(state).at(-1)?.body;
const phases = ({ entries }: ViewerState) =>
  entries.flatMap((entry) => (entry.kind === "sandbox-phase" ? [entry.body.phase as string] : []));

test("a prompt is answered while the workspace is archived", async () => {
  // A server that has not opened the session yet, whose workspace stands.
  await server.restart();
  await writeFile(await inWorkspace("changed.txt"), "changed");
  const { begun, released } = hold("/snapshot/create");
  const archiving = archiveRunning();
  await begun.promise;
  const before = await turnsSoFar();
  await server.prompt(sessionId, "hello again");
  expect(lastEnd(await server.follow(sessionId, ended(before + 1)))).toEqual({ outcome: "finished" });
  released.resolve();
  await archiving;
  const [newest] = await server.services.snapshots.list(server.viewer, sessionId);
  expect(newest).toMatchObject({ state: "verified" });
});

test("a prompt waits for a restore by hand, says so, and works on what was restored", async () => {
  const { snapshotId } = await server.services.snapshots.take(server.viewer, { sessionId, signal: signal() });
  await writeFile(await inWorkspace("changed.txt"), "changed since");
  const { begun, released } = hold("/snapshot/restore");
  const chosen = { sessionId, snapshotId: snapshotId ?? "", signal: signal() };
  const restoring = server.services.snapshots.restore(server.viewer, chosen);
  await begun.promise;
  const before = await turnsSoFar();
  await server.prompt(sessionId, "hello during the restore");
  const waiting = await server.follow(sessionId, (state) => phases(state).at(-1) === "restoring-files");
  expect(ends(waiting)).toHaveLength(before);
  released.resolve();
  expect(await restoring).toMatchObject({ outcome: "restored" });
  const state = await server.follow(sessionId, ended(before + 1), waiting);
  expect(lastEnd(state)).toEqual({ outcome: "finished" });
  expect(phases(state).slice(-2)).toEqual(["restoring-files", "files-ready"]);
  expect(await readFile(await inWorkspace("changed.txt"), "utf8")).toBe("changed");
});

test("a prompt that waits for a restore can be stopped, and the restore goes on", async () => {
  const [newest] = await server.services.snapshots.list(server.viewer, sessionId);
  await writeFile(await inWorkspace("changed.txt"), "changed once more");
  const { begun, released } = hold("/snapshot/restore");
  const chosen = { sessionId, snapshotId: newest?.id ?? "", signal: signal() };
  const restoring = server.services.snapshots.restore(server.viewer, chosen);
  await begun.promise;
  const before = await turnsSoFar();
  await server.prompt(sessionId, "hello during another restore");
  const waiting = await server.follow(
    sessionId,
    (state) => ends(state).length === before && phases(state).at(-1) === "restoring-files",
  );
  expect(await server.services.turns.stop(server.viewer, sessionId)).toBe(true);
  expect(lastEnd(await server.follow(sessionId, ended(before + 1), waiting))).toEqual({ outcome: "stopped" });
  released.resolve();
  expect(await restoring).toMatchObject({ outcome: "restored" });
});
