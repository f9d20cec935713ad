import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentRequest, buildAgentConfig, createAgentClient } from "../agent/index.ts";
import { faultError } from "../errors.ts";
import { createLogger } from "../lib/logger.ts";
import type { PermissionPolicy } from "../models/index.ts";
import type { LogEntryOf } from "../protocol/log-entry.ts";
import type { ViewerState } from "../protocol/viewer-state.ts";
import { createSidecarClient } from "../sandboxes/create-sidecar-client.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { letGo, untilLetGo } from "./test-gate.ts";
import { createTestServer, ended, ends, type Peer, type TestServer, textOf } from "./test-turns.ts";

// Everything is real and shares one sandbox: each test has a session of its own.
let server: TestServer;
let sidecar: SidecarClient;
const warnings: unknown[] = [];
/** Of the next replies to the agent, one after another. */
let lost: ("its answer" | "the reply")[] = [];
/** What the next look at the agent's questions finds, once it does. */
let late: Promise<AgentRequest[]> | null = null;
beforeAll(async () => {
  const logger = createLogger("error");
  logger.warn = (fields: unknown) => void warnings.push(fields);
  server = await createTestServer(
    {},
    {
      logger,
      createSidecarClient(options) {
        sidecar = createSidecarClient(options);
        return sidecar;
      },
      createAgentClient(options) {
        const client = createAgentClient(options);
        return {
          ...client,
          listQuestions(directory, signal) {
            const found = late ?? client.listQuestions(directory, signal);
            late = null;
            return found;
          },
          async replyPermission(input) {
            const isLost = lost.shift();
            if (isLost !== "the reply") await client.replyPermission(input);
            if (isLost) throw faultError("agent-late");
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
const turns = () => server.services.turns;
const asksIn = ({ entries }: ViewerState) =>
  entries.filter((entry): entry is LogEntryOf<"ask"> => entry.kind === "ask");
const asking =
  (count = 1) =>
  (state: ViewerState) =>
    asksIn(state).length >= count;
const decide = (policy: PermissionPolicy) => server.services.models.choosePermissions(server.viewer, policy);

async function ask(prompt: string) {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, prompt);
  const [first] = asksIn(await server.follow(sessionId, asking()));
  if (!first) throw new Error("not asked");
  return { sessionId, askId: first.body.askId, body: first.body };
}

const rowOf = async (askId: string) => {
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.execute(sql`select state from asks where id = ${askId}`),
  );
  return row?.state;
};

describe("under the policy to ask", () => {
  beforeAll(() => decide("ask"));
  afterAll(() => decide("allow"));

  test("a command waits for a person, whose answer is taken once", patience, async () => {
    const { sessionId, askId, body } = await ask("run `echo allowed > outputs/made.txt; echo done`");
    expect(body).toMatchObject({ kind: "permission", state: "pending", request: { permission: "bash" } });
    expect(await turns().listAsks(server.viewer, sessionId)).toMatchObject([{ id: askId, kind: "permission" }]);
    const wrong = turns().answer(server.viewer, { askId, answer: { answers: [["once"]] } });
    await expect(wrong).rejects.toMatchObject({ kind: "invalid-input" });
    const stranger = { ...server.viewer, userId: crypto.randomUUID() as typeof server.viewer.userId };
    const answer = { askId, answer: { reply: "once" } } as const;
    await expect(turns().answer(stranger, answer)).rejects.toMatchObject({ kind: "not-found" });
    await turns().answer(server.viewer, answer);
    await expect(turns().answer(server.viewer, answer)).rejects.toMatchObject({ kind: "conflict" });
    const state = await server.follow(sessionId, ended());
    expect(asksIn(state).map(({ body }) => [body.state, body.answer])).toEqual([["answered", "once"]]);
    expect(textOf(state)).toContain("done");
    expect(await turns().listAsks(server.viewer, sessionId)).toEqual([]);
  });

  test("what is refused is not done", patience, async () => {
    const { sessionId, askId } = await ask("run `echo refused > outputs/made.txt`");
    await turns().answer(server.viewer, { askId, answer: { reply: "reject" } });
    const state = await server.follow(sessionId, ended());
    expect(asksIn(state)[0]?.body).toMatchObject({ state: "answered", answer: "reject" });
    const { files } = server.services;
    const listed = await files.list(server.viewer, {
      sessionId,
      path: "outputs",
      signal: AbortSignal.timeout(20_000),
    });
    expect(listed.entries).toEqual([]);
  });

  test("what is allowed from now on is not asked again", patience, async () => {
    const { sessionId, askId } = await ask("run `echo one`");
    await turns().answer(server.viewer, { askId, answer: { reply: "always" } });
    await server.follow(sessionId, ended());
    await server.prompt(sessionId, "run `echo two`");
    const state = await server.follow(sessionId, ended(2));
    expect(asksIn(state)).toHaveLength(1);
    expect(textOf(state)).toContain("two");
  });

  test("an ask survives the server, and an answer given while none was there arrives", patience, async () => {
    const { sessionId, askId } = await ask("run `ls -a`");
    const peer = await server.startPeer();
    await server.wiring.closeTurns();
    await peer.services.turns.answer(server.viewer, { askId, answer: { reply: "once" } });
    await peer.close();
    await server.restart();
    const state = await server.follow(sessionId, ended());
    expect(asksIn(state).map(({ body }) => [body.askId, body.state])).toEqual([[askId, "answered"]]);
    expect(ends(state)[0]?.body).toEqual({ outcome: "finished" });
  });

  test("an hour in which a person thinks is not the turn's, also when another server goes on", patience, async () => {
    const { sessionId, askId } = await ask("run `ls -l`");
    await server.leave();
    await server.database.transaction(server.viewer, (tx) =>
      tx.execute(sql`
        update turns set started_at = started_at - interval '1 hour', waiting_since = waiting_since - interval '1 hour'
        where session_id = ${sessionId}`),
    );
    await server.start();
    await turns().answer(server.viewer, { askId, answer: { reply: "once" } });
    expect(ends(await server.follow(sessionId, ended()))[0]?.body).toEqual({ outcome: "finished" });
    const [turn] = await server.database.transaction(server.viewer, (tx) =>
      tx.execute(sql`select waiting_since, waited_milliseconds from turns where session_id = ${sessionId}`),
    );
    expect(turn?.waiting_since).toBeNull();
    expect(Number(turn?.waited_milliseconds)).toBeGreaterThanOrEqual(3_600_000);
  });

  test("an ask that came while nobody listened is found again", patience, async () => {
    const { sessionId, askId } = await ask("run `pwd`");
    await server.wiring.closeTurns();
    // As if neither the row nor the entry had been written before the server died.
    await server.database.transaction(server.viewer, async (tx) => {
      await tx.execute(sql`delete from asks where id = ${askId}`);
      await tx.execute(sql`delete from log_entries where session_id = ${sessionId} and kind = 'ask'`);
    });
    await server.restart();
    const [again] = asksIn(await server.follow(sessionId, asking()));
    expect(again?.body.askId).not.toBe(askId);
    await turns().answer(server.viewer, { askId: again?.body.askId ?? "", answer: { reply: "once" } });
    expect(ends(await server.follow(sessionId, ended()))[0]?.body).toEqual({ outcome: "finished" });
  });

  test.each(["its answer", "the reply"] as const)(
    "an answer reaches the agent though %s was lost, and is said to be one",
    patience,
    async (what) => {
      const { sessionId, askId } = await ask("run `whoami`");
      // It is told here, and once more by the notification.
      lost = what === "the reply" ? [what, what] : [what];
      await turns().answer(server.viewer, { askId, answer: { reply: "once" } });
      const state = await server.follow(sessionId, ended());
      expect(lost).toEqual([]);
      expect(ends(state)[0]?.body).toEqual({ outcome: "finished" });
      expect(asksIn(state).map(({ body }) => [body.state, body.answer])).toEqual([["answered", "once"]]);
    },
  );

  test("what is still asked when the turn ends is withdrawn with it", patience, async () => {
    const { sessionId, askId } = await ask("run `date`");
    await turns().stop(server.viewer, sessionId);
    const state = await server.follow(sessionId, ended());
    expect(ends(state)[0]?.body).toMatchObject({ outcome: "stopped" });
    expect(asksIn(state)[0]).toMatchObject({ open: false, body: { state: "withdrawn" } });
    expect(await rowOf(askId)).toBe("withdrawn");
    const late = turns().answer(server.viewer, { askId, answer: { reply: "once" } });
    await expect(late).rejects.toMatchObject({ kind: "conflict" });
  });
});

test("what is found to be asked after the end of its turn waits for nobody", patience, async () => {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, `run \`echo begun; ${untilLetGo}\``);
  await server.follow(sessionId, ({ entries }) => JSON.stringify(entries).includes("begun\\n"));
  const looking = Promise.withResolvers<AgentRequest[]>();
  late = looking.promise;
  await server.restart();
  await expect.poll(() => late === null, { timeout: 30_000 }).toBe(true);
  await letGo(server, sessionId);
  await server.follow(sessionId, ended());
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.execute<{ agent_session_id: string }>(sql`select agent_session_id from sessions where id = ${sessionId}`),
  );
  const request = {
    questions: [{ text: "Which?", multiple: false, options: [{ label: "One" }] }],
  };
  looking.resolve([{ id: "que_late", agentSessionId: String(row?.agent_session_id), request }]);
  await server.prompt(sessionId, "my name is Ada");
  const state = await server.follow(sessionId, ended(2));
  expect(asksIn(state)).toEqual([]);
  expect(await turns().listAsks(server.viewer, sessionId)).toEqual([]);
});

test("under the policy to deny the agent changes nothing, and nobody is asked", patience, async () => {
  await decide("deny");
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "run `echo denied > outputs/made.txt`");
  const state = await server.follow(sessionId, ended());
  expect(asksIn(state)).toEqual([]);
  const { files } = server.services;
  const signal = AbortSignal.timeout(20_000);
  expect((await files.list(server.viewer, { sessionId, path: "outputs", signal })).entries).toEqual([]);
  await decide("allow");
});

test(
  "under the policy to allow an ask that comes all the same is answered once, said and counted",
  patience,
  async () => {
    const woken = await server.newSession();
    await server.prompt(woken, "my name is Bo");
    await server.follow(woken, ended());
    const signal = () => AbortSignal.timeout(30_000);
    const config = buildAgentConfig({ providers: [], defaultModel: null, permissionPolicy: "ask" });
    await sidecar.restartAgent({ config }, signal());
    await sidecar.waitForAgent(signal());
    const sessionId = await server.newSession();
    await server.prompt(sessionId, "run `echo unasked`");
    const state = await server.follow(sessionId, ended());
    expect(ends(state)[0]?.body).toEqual({ outcome: "finished" });
    expect(asksIn(state).map(({ open, body }) => [open, body.state, body.answer])).toEqual([
      [false, "answered", "once"],
    ]);
    expect(textOf(state)).toContain("unasked");
    const counted = warnings.filter((fields) => JSON.stringify(fields).includes("opencode_unexpected_permission_ask"));
    expect(counted).toMatchObject([{ sessionId, permission: "bash", reply: "once" }]);
    const allowed = buildAgentConfig({ providers: [], defaultModel: null, permissionPolicy: "allow" });
    await sidecar.restartAgent({ config: allowed }, signal());
    await sidecar.waitForAgent(signal());
  },
);

describe("through another process", () => {
  let peer: Peer;
  beforeAll(async () => {
    peer = await server.startPeer();
  });
  afterAll(() => peer.close());

  test("a turn begins, is answered and is stopped, in the process that holds the sandbox", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, "my name is Bo");
    await server.follow(sessionId, ended());
    await peer.services.turns.start(server.viewer, { sessionId, prompt: "Ask me a question", idempotencyKey: "peer" });
    const [asked] = asksIn(await server.follow(sessionId, asking()));
    const askId = asked?.body.askId ?? "";
    await peer.services.turns.answer(server.viewer, { askId, answer: { answers: [["Moss"]] } });
    const state = await server.follow(sessionId, ended(2));
    expect(textOf(state)).toContain("You chose Moss");

    await server.prompt(sessionId, "run `echo begun; sleep 60`");
    await server.follow(sessionId, ({ entries }) => JSON.stringify(entries).includes('"output":"begun'));
    expect(await peer.services.turns.stop(server.viewer, sessionId)).toBe(true);
    const stopped = await server.follow(sessionId, ended(3));
    expect(ends(stopped)[2]?.body).toMatchObject({ outcome: "stopped" });
  });

  test("a message is sent into the running turn", patience, async () => {
    const sessionId = await server.newSession();
    await server.prompt(sessionId, `run \`echo begun; ${untilLetGo}\``);
    await server.follow(sessionId, ({ entries }) => JSON.stringify(entries).includes('"output":"begun'));
    const turnId = await server.prompt(sessionId, "my name is Joined");
    await peer.services.turns.sendNow(server.viewer, { sessionId, turnId });
    await server.follow(sessionId, ({ entries }) => entries.filter(({ kind }) => kind === "prompt").length === 2);
    await letGo(server, sessionId);
    const state = await server.follow(sessionId, ended());
    expect(textOf(state)).toContain("Joined");
    expect(await turns().find(server.viewer, { sessionId, turnId })).toMatchObject({ state: "finished" });
    expect(ends(state)).toHaveLength(1);
  });
});
