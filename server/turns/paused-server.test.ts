import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase, type Database } from "../../db/client.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";
import { createTestWords } from "./test-words.ts";

// A server stands still in the middle of a turn, as on a machine that was suspended; another one takes over and ends
// the turn. Then the first one goes on, with all that it was about to write.
let server: TestServer;
const words = createTestWords();
let pause: PromiseWithResolvers<void> | null = null;
let made = 0;

/** Of the first server alone: nothing of it reaches the database while it is paused. */
function pausing(...parameters: Parameters<typeof createDatabase>): Database {
  const database = createDatabase(...parameters);
  if (made++ > 0) return database;
  return {
    ...database,
    async transaction(actor, work) {
      await pause?.promise;
      return database.transaction(actor, async (tx) => {
        await pause?.promise;
        return work(tx);
      });
    },
    async call(...input) {
      await pause?.promise;
      return database.call(...input);
    },
  };
}

beforeAll(async () => {
  server = await createTestServer({}, { demoPace: words, createDatabase: pausing });
}, 120_000);
afterAll(async () => {
  pause?.resolve();
  await server.close();
}, 60_000);

/** All that a turn and a sandbox have beside the lease itself, which its holder renews all the time. */
const readRows = () =>
  server.database.transaction(server.viewer, async (tx) => {
    const rows: Record<string, unknown[]> = {};
    for (const table of ["sessions", "turns", "log_entries", "asks", "archives", "operations", "tokens", "sandboxes"]) {
      const all = await tx.execute(
        sql.raw(`select to_jsonb(t) - 'lease_expires_at' as row from ${table} t order by 1`),
      );
      rows[table] = all.map(({ row }) => row);
    }
    return rows;
  });

describe("a server that was paused while another one took over", () => {
  test("changes no row when it goes on", { timeout: 90_000 }, async () => {
    const first = await server.newSession();
    await server.prompt(first, "my name is Ada");
    await server.follow(first, ended());
    const sessionId = await server.newSession();
    words.allow(20);
    await server.prompt(sessionId, "Give me a long text of 150 words");
    await server.follow(sessionId, (state) => textOf(state).length > 60);
    const replica = await server.startReplica();
    try {
      pause = Promise.withResolvers();
      // What it does besides: an archive of everything, and a question whose answer is on its way.
      const archiving = server.wiring.loops.find(({ name }) => name === "archive-running")?.runNow();
      archiving?.catch(() => {});
      await server.handOver();
      words.allowAll();
      const state = await server.follow(sessionId, ended(), undefined, replica.services);
      expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
      const before = await readRows();
      pause.resolve();
      pause = null;
      await archiving?.catch(() => {});
      await server.leave();
      expect(await readRows()).toEqual(before);
    } finally {
      await replica.close();
      await server.start();
    }
  });
});
