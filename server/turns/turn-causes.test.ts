import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAgentClient } from "../agent/index.ts";
import { causes, providerCause } from "../protocol/causes.ts";
import type { ViewerState } from "../protocol/viewer-state.ts";
import { createSandboxPrograms } from "./test-programs.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";

// Each fault is made for real, and the turn that met it has to name it.
let server: TestServer;
let owner: postgres.Sql;
let admin: postgres.Sql;
/** Every connection to the database is killed while the agent opens the directory. */
let killsConnections = false;

beforeAll(async () => {
  server = await createTestServer(
    {},
    {
      createAgentClient(options) {
        const client = createAgentClient(options);
        return {
          ...client,
          async createSession(input) {
            const id = await client.createSession(input);
            if (killsConnections) await killConnections();
            return id;
          },
        };
      },
    },
  );
  owner = postgres(server.ownerUrl, { max: 1, onnotice: () => {} });
  admin = postgres(server.setup.applicationUrl, { max: 1, onnotice: () => {} });
}, 120_000);
afterAll(async () => {
  await Promise.all([owner.end(), admin.end()]);
  await server.close();
}, 60_000);

const patience = { timeout: 120_000 };

/** What ends in the moment in which the next statement comes: the transaction that it is in is lost. */
async function killConnections(): Promise<void> {
  await admin`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${new URL(server.ownerUrl).pathname.slice(1)} and application_name = 'dormouse'`;
}

async function endOf(prompt: string, sessionId?: string) {
  const id = sessionId ?? (await server.newSession());
  const before = sessionId ? ends(await server.follow(id, () => true)).length : 0;
  await server.prompt(id, prompt);
  const state: ViewerState = await server.follow(id, ended(before + 1));
  return { sessionId: id, state, end: ends(state).at(-1)?.body };
}

const works = async () => {
  const { state, end } = await endOf("my name is Bo");
  expect(end).toEqual({ outcome: "finished" });
  expect(textOf(state)).toContain("Bo");
};

test(
  "a database whose connections break in a new session is named, or the turn is answered all the same",
  patience,
  async () => {
    killsConnections = true;
    for (let round = 0; round < 3; round++) {
      const { end } = await endOf("my name is Bo");
      expect([undefined, causes["database-away"].message]).toContain(end && "message" in end ? end.message : undefined);
    }
    killsConnections = false;
    // A connection that was killed unused may be noticed only by who uses it next.
    const answered = async () => (await endOf("my name is Bo")).end;
    await expect.poll(answered, { timeout: 60_000 }).toEqual({ outcome: "finished" });
  },
);

test("what the model's provider refuses is said with what it means", patience, async () => {
  for (const status of [401, 404, 400]) {
    const { end } = await endOf(`fail with ${status}`);
    const message = expect.stringContaining(providerCause(status, "").slice(0, 40));
    expect(end).toMatchObject({ outcome: "failed", code: String(status), message });
  }
});

test("an agent that is killed in mid-turn is said to have ended, and the next turn works", patience, async () => {
  const { end } = await endOf("run `kill -9 $PPID`");
  expect(end).toEqual({ outcome: "failed", code: "agent-exited", message: causes["agent-ended"].message });
  await works();
});

test("of an agent behind a sidecar that stands still it is said that it was lost sight of, and the next turn works", {
  timeout: 240_000,
}, async () => {
  const programs = createSandboxPrograms(server.home);
  const sessionId = await server.newSession();
  const turnId = await server.prompt(sessionId, "run `sleep 987030`");
  await expect.poll(() => programs.runs("sleep 987030"), { timeout: 30_000 }).toBe(true);
  programs.signal("sidecar", "SIGSTOP");
  try {
    // For as long as it may be away, which is a minute, the turn goes on.
    const stateOf = async () => (await server.services.turns.find(server.viewer, { sessionId, turnId }))?.state;
    await expect.poll(stateOf, { timeout: 150_000, interval: 500 }).toBe("failed");
  } finally {
    programs.signal("sidecar", "SIGCONT");
  }
  const lost = { outcome: "failed", code: "stream-error", message: causes["agent-lost"].message, untold: true };
  expect(ends(await server.follow(sessionId, ended())).at(-1)?.body).toEqual(lost);
  await works();
  await expect.poll(() => programs.runs("sleep 987030"), { timeout: 30_000 }).toBe(false);
});

test(
  "a person who was disabled is told that, and nothing of restarts; so is access that expired",
  patience,
  async () => {
    // A server that has just started remembers nobody.
    await server.restart();
    await owner`update users set disabled_at = now() where id = ${server.viewer.userId}`;
    const disabled = await endOf("my name is Bo");
    expect(disabled.end).toMatchObject({ outcome: "failed", code: "401", message: causes["access-disabled"].message });
    await owner`update users set disabled_at = null where id = ${server.viewer.userId}`;
    await works();
    await server.restart();
    await owner`update tokens set expires_at = now() - interval '1 hour' where type = 'sandbox'`;
    const expired = await endOf("my name is Bo");
    expect(expired.end).toMatchObject({ outcome: "failed", code: "401", message: causes["access-expired"].message });
    await owner`update tokens set expires_at = now() + interval '20 days' where type = 'sandbox'`;
    await works();
  },
);
