import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createDatabase } from "../../db/client.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";
import { createTestWords } from "./test-words.ts";

// Between the server and its Postgres stands a door that can be shut: then the database is away, as when it restarts.
let server: TestServer;
let door: ReturnType<typeof createDoor>;
const words = createTestWords();
beforeAll(async () => {
  door = createDoor();
  await door.opened;
  server = await createTestServer(
    {},
    { demoPace: words, createDatabase: (url, options) => createDatabase(door.before(url), options) },
  );
}, 120_000);
afterEach(async () => {
  words.allowAll();
  await door.open();
});
afterAll(async () => {
  await server.close();
  await door.remove();
}, 60_000);

const patience = { timeout: 90_000 };

function createDoor() {
  const sockets = new Set<Socket>();
  let target = { host: "127.0.0.1", port: 5432 };
  let listener: Server | null = null;
  let port = 0;
  const listen = async () => {
    listener = createServer((inside) => {
      const outside = connect(target);
      for (const socket of [inside, outside]) {
        sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          sockets.delete(socket);
          inside.destroy();
          outside.destroy();
        });
      }
      inside.pipe(outside).pipe(inside);
    });
    listener.listen(port, "127.0.0.1");
    await once(listener, "listening");
    port = (listener.address() as AddressInfo).port;
  };
  const opened = listen();
  return {
    opened,
    before(url: string) {
      const at = new URL(url);
      target = { host: at.hostname, port: Number(at.port) };
      return String(Object.assign(at, { hostname: "127.0.0.1", port: String(port) }));
    },
    async shut() {
      const closed = once(listener as Server, "close");
      listener?.close();
      listener = null;
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    async open() {
      if (!listener) await listen();
    },
    async remove() {
      listener?.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Until the server knows it. */
async function untilAway(): Promise<void> {
  while (!server.wiring.isDatabaseAway()) await new Promise((resolve) => setImmediate(resolve));
}

describe("a database that goes away in the middle of a turn", () => {
  test("is waited for: the answer arrives whole, once, from the same sandbox", patience, async () => {
    const prompt = "Give me a long text of 200 words";
    const reference = await server.newSession();
    await server.prompt(reference, prompt);
    const expected = textOf(await server.follow(reference, ended()));
    const sandbox = async () =>
      (
        await server.database.transaction(server.viewer, (tx) =>
          tx.execute(sql`select id, lease_epoch, boot_id, observed_state from sandboxes`),
        )
      )[0];
    const before = await sandbox();

    const sessionId = await server.newSession();
    words.allow(20);
    await server.prompt(sessionId, prompt);
    const stayed = server.follow(sessionId, ended());
    await server.follow(sessionId, (state) => textOf(state).length > 60);
    await door.shut();
    await untilAway();
    await expect(server.services.requireReady()).rejects.toMatchObject({ kind: "unavailable" });
    // The agent goes on meanwhile, and the lease lapses, since nobody can renew it.
    words.allowAll();
    await server.lapseLeases();
    await door.open();

    const state = await stayed;
    expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
    expect(textOf(state)).toBe(expected);
    expect(await sandbox()).toEqual(before);
    await server.services.requireReady();
  });

  test("takes what is asked for meanwhile once it is back", patience, async () => {
    const sessionId = await server.newSession();
    await door.shut();
    await untilAway();
    const sent = server.prompt(sessionId, "my name is Ada");
    await door.open();
    await sent;
    expect(ends(await server.follow(sessionId, ended())).map(({ body }) => body)).toEqual([{ outcome: "finished" }]);
  });
});
