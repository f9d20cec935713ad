import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createPlainServer } from "node:net";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createTestServer, ended, type TestServer, textOf } from "../../../turns/test-turns.ts";
import { findPrograms } from "../local/find-programs.ts";
import { createProcessBackend } from "./create-process-backend.ts";

// The whole server, the real sidecar and the real agent, with a backend that nothing but this test knows of.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const outside = createServer((_request, response) => response.end("from outside"));
let test: TestServer;
let target: string;

beforeAll(async () => {
  outside.listen({ host: "127.0.0.2", port: 0 });
  await once(outside, "listening");
  target = `127.0.0.2:${(outside.address() as AddressInfo).port}`;
  test = await createTestServer(
    { DORMOUSE_SANDBOX_LISTEN: `127.0.0.1:${await freePort()}`, DORMOUSE_EGRESS_ALLOW: target },
    {
      backends: {
        "test-process": ({ config, root, home, serverUrl }) =>
          createProcessBackend({
            home,
            programs: findPrograms(root),
            searchPath: config.searchPath,
            serverUrl: serverUrl ?? "",
          }),
      },
    },
  );
  await test.database.transaction(test.viewer, (tx) => tx.execute(sql`update tenants set host_consent_at = now()`));
});
afterAll(async () => {
  await test?.close();
  outside.close();
});

async function freePort(): Promise<number> {
  const server = createPlainServer().listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function readSandbox() {
  const [row] = await test.database.transaction(test.viewer, (tx) =>
    tx.execute(sql`select backend, isolation, observed_state as state, boot_id as boot from sandboxes`),
  );
  return row;
}

it("wakes, works through gateway and egress, and is taken over by the next server", async () => {
  const sessionId = await test.newSession();
  await test.prompt(sessionId, `run \`curl -sS -m 20 http://${target}/; curl -sS -m 20 http://10.0.0.1/ 2>&1\``);
  const first = await test.follow(sessionId, ended());
  expect(textOf(first)).toContain("from outside");
  expect(textOf(first)).toContain("sandboxes may not reach");
  const sandbox = await readSandbox();
  expect(sandbox).toMatchObject({ backend: "test-process", isolation: "plain-process", state: "running" });
  await test.restart();
  await test.prompt(sessionId, `run \`curl -sS -m 20 http://${target}/again\``);
  const second = await test.follow(sessionId, ended(2), first);
  expect(textOf(second).match(/from outside/g)).toHaveLength(2);
  expect(await readSandbox()).toEqual(sandbox);
});

it("sleeps when the server is stopped, and wakes with its files", async () => {
  const sessionId = await test.newSession();
  await test.prompt(sessionId, "run `echo kept > kept.txt`");
  const first = await test.follow(sessionId, ended());
  await test.sleepAndWake(async () => expect(await readSandbox()).toMatchObject({ state: "sleeping" }));
  await test.prompt(sessionId, "run `cat kept.txt`");
  expect(textOf(await test.follow(sessionId, ended(2), first))).toContain("kept");
});
