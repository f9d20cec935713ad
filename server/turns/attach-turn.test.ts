import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentClient, buildAgentConfig, createAgentClient } from "../agent/index.ts";
import type { LogEntry } from "../protocol/log-entry.ts";
import { createSidecarClient } from "../sandboxes/create-sidecar-client.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { createTestServer, ended, ends, type TestServer } from "./test-turns.ts";
import { createTestWords } from "./test-words.ts";

// Servers that die at one certain moment, and what the next one makes of it. Everything is real.
let server: TestServer;
const words = createTestWords();
let client: AgentClient;
let sidecar: SidecarClient;
/** The server hears nothing of the agent's messages any more. */
let isDeaf = false;
let deafensWithSummary = false;

beforeAll(async () => {
  server = await createTestServer(
    {},
    {
      demoPace: words,
      createSidecarClient(options) {
        sidecar = createSidecarClient(options);
        return sidecar;
      },
      createAgentClient(options) {
        client = createAgentClient(options);
        return {
          ...client,
          listMessages: (...input) => (isDeaf ? hang(input[1]) : client.listMessages(...input)),
          summarize(input) {
            isDeaf = deafensWithSummary;
            return client.summarize(input);
          },
        };
      },
    },
  );
}, 120_000);
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 90_000 };
const signal = () => AbortSignal.timeout(30_000);
const isDiscarded = ({ kind, body }: LogEntry) =>
  kind === "parts-discard" || ("discarded" in body && body.discarded === true);
const hang = (until: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (until.aborted) reject(until.reason);
    else until.addEventListener("abort", () => reject(until.reason));
  });

async function asOwner(work: (owner: postgres.TransactionSql) => Promise<void>): Promise<void> {
  const owner = postgres(server.ownerUrl, { max: 1, onnotice: () => {} });
  try {
    await owner.begin(work);
  } finally {
    await owner.end();
  }
}

test("a turn that failed on an unknown model while nobody listened ends with that cause", patience, async () => {
  const woken = await server.newSession();
  await server.prompt(woken, "my name is Ada");
  await server.follow(woken, ended());
  const config = buildAgentConfig({ providers: [], defaultModel: null, permissionPolicy: "allow" });
  await sidecar.restartAgent({ config: { ...config, model: "demo/none", small_model: "demo/none" } }, signal());
  await sidecar.waitForAgent(signal());
  try {
    const sessionId = await server.newSession();
    const { lastEvent } = await sidecar.health(signal());
    const turnId = await server.prompt(sessionId, "Hello");
    const state = await server.follow(sessionId, ended());
    const end = ends(state)[0]?.body;
    expect(end).toMatchObject({ outcome: "failed", message: expect.stringContaining("none") });

    await server.leave();
    // As a server leaves it that dies after the prompt: of an error without an answer nothing is written.
    await asOwner(async (owner) => {
      // No turn that ended begins again, but this one is to look as it did before.
      await owner`alter table turns disable trigger turns_transition`;
      await owner`update turns set state = 'running', ended_at = null, failure_code = null, failure_message = null
        where id = ${turnId}`;
      await owner`alter table turns enable trigger turns_transition`;
      await owner`delete from log_entries where turn_id = ${turnId} and kind = 'turn-end'`;
      await owner`update sessions set applied_event = ${lastEvent} where id = ${sessionId}`;
    });
    await server.start();
    const again = await server.follow(sessionId, ended());
    expect(ends(again).map(({ body }) => body)).toEqual([end]);
  } finally {
    await sidecar.restartAgent({ config }, signal());
    await sidecar.waitForAgent(signal());
  }
});

test("a summary whose server died before it knew its message is not written twice", patience, async () => {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.execute(sql`select agent_session_id from sessions where id = ${sessionId}`),
  );
  const agentSessionId = String(row?.agent_session_id);
  const compactions = async () => {
    const messages = await client.listMessages(agentSessionId, signal());
    return messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "compaction"));
  };
  deafensWithSummary = true;
  words.allow(2);
  const { id } = await server.services.turns.compact(server.viewer, { sessionId, idempotencyKey: crypto.randomUUID() });
  await expect.poll(async () => (await compactions()).length, { timeout: 20_000 }).toBe(1);
  await server.leave();
  isDeaf = false;
  deafensWithSummary = false;
  words.allowAll();
  await server.start();
  const after = await server.follow(sessionId, ended(2));
  expect(ends(after)[1]?.body).toEqual({ outcome: "finished" });
  // The model's stream ran through the server that died, so that the agent tried again.
  const own = after.entries.filter((entry) => entry.turnId === id && !isDiscarded(entry));
  expect(own.map(({ kind }) => kind)).toEqual(["memory-note", "agent_thought", "usage", "turn-end"]);
  expect(await compactions()).toHaveLength(1);

  // The next one is a summary of its own, though one stands last in the conversation.
  await server.services.turns.compact(server.viewer, { sessionId, idempotencyKey: crypto.randomUUID() });
  expect(ends(await server.follow(sessionId, ended(3)))[2]?.body).toEqual({ outcome: "finished" });
  expect(await compactions()).toHaveLength(2);
});
