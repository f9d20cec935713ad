import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createTestSandbox, deadline, type TestBoot, type TestSandbox } from "../test-sidecar.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

let sandbox: TestSandbox;
let boot: TestBoot;
beforeAll(async () => {
  sandbox = await createTestSandbox();
  boot = await sandbox.boot();
});
afterAll(() => sandbox?.remove());

const id = "ses_000000000001import00000001";
const part = (messageID: string, n: number) => ({
  id: `prt_00000000000${n}import0000000${n}`,
  messageID,
  sessionID: id,
  type: "text",
  text: `part ${n}`,
});
const session = {
  info: {
    id,
    slug: "imported",
    version: "test",
    projectID: "global",
    directory: "/elsewhere",
    title: "imported",
    time: { created: 1, updated: 2 },
  },
  messages: [1, 2].map((n) => {
    const messageID = `msg_00000000000${n}import0000000${n}`;
    const model = { providerID: "test", modelID: "first" };
    const info = { id: messageID, sessionID: id, role: "user", time: { created: n }, agent: "build", model };
    return { info, parts: [part(messageID, n)] };
  }),
};
const importSession = (sessionId: string, given: unknown = session) =>
  boot.client.json({
    method: "POST",
    path: "/agent-import",
    json: { sessionId, session: given },
    timeoutMilliseconds: 60_000,
    signal: deadline(),
  });

test("waits for the gate: there is no history to import into", async () => {
  await expect(importSession(randomUUID())).rejects.toMatchObject({ kind: "unavailable" });
  await boot.wake();
});

test("a conversation is imported beside the running agent, into the session's directory, once", async () => {
  const sessionId = randomUUID();
  const { directory } = await boot.client.prepareWorkspace(sessionId, deadline());
  await importSession(sessionId);
  await importSession(sessionId);
  const get = (path: string) => boot.client.json({ method: "GET", path: `/agent${path}`, signal: deadline() });
  expect(await get(`/session/${id}`)).toMatchObject({ id, directory, title: "imported" });
  expect(await get(`/session/${id}/message`)).toMatchObject([
    { parts: [{ text: "part 1" }] },
    { parts: [{ text: "part 2" }] },
  ]);
  expect(await readdir(join(sandbox.workspace, "managed", "tmp"))).not.toContainEqual(
    expect.stringMatching(/^import-/),
  );
});

test("what cannot be imported is refused in words", async () => {
  await expect(importSession(randomUUID())).rejects.toMatchObject({ kind: "not-found" });
  await expect(importSession("../x")).rejects.toMatchObject({ kind: "invalid-input" });
  const sessionId = randomUUID();
  await boot.client.prepareWorkspace(sessionId, deadline());
  const broken = { info: { id: "nonsense" }, messages: [] };
  await expect(importSession(sessionId, broken)).rejects.toMatchObject({
    kind: "upstream",
    message: expect.stringContaining("could not import"),
  });
});
