import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Fence } from "../lifecycle/index.ts";
import { createTestLog, type TestLog } from "../sessions/test-log.ts";
import { endWaiting, insertAsk, storeAnswer, withdrawAsk } from "./ask-rows.ts";
import { claimJoin, releaseJoin } from "./join-rows.ts";
import { findOpenTurn, type OpenTurn, storeAgentSession, storePrompting } from "./turn-rows.ts";

let test_: TestLog;
beforeAll(async () => {
  test_ = await createTestLog();
});
afterAll(async () => {
  await test_[Symbol.asyncDispose]();
});

/** A session with a running turn and one that is to join it, and those who hold the lease and who held it before. */
async function createRunningTurn() {
  const { database, viewer: actor } = test_;
  const { sessionId, sandboxId, turnId, bootId } = await test_.begin();
  const host = await findOpenTurn(database, actor, sessionId);
  if (!host) throw new Error("No turn runs.");
  const [row] = await database.transaction(actor, (tx) =>
    tx.execute<{ id: string }>(sql`
      insert into turns (tenant_id, user_id, session_id, position, prompt, idempotency_key)
      values (${actor.tenantId}, ${actor.userId}, ${sessionId}, 2, 'And this', 'second') returning id`),
  );
  const held: Fence = { database, actor, lease: { sandboxId, leaseEpoch: 1 } };
  const superseded: Fence = { database, actor, lease: { sandboxId, leaseEpoch: 0 } };
  const read = () =>
    database.transaction(actor, async (tx) => ({
      sessions: [...(await tx.execute(sql`select * from sessions where id = ${sessionId}`))],
      turns: [...(await tx.execute(sql`select * from turns where session_id = ${sessionId} order by position`))],
      asks: [...(await tx.execute(sql`select * from asks where session_id = ${sessionId} order by created_at`))],
    }));
  return { sessionId, turnId, bootId, host, queuedId: String(row?.id), held, superseded, read };
}

type RunningTurn = Awaited<ReturnType<typeof createRunningTurn>>;

const question = (host: OpenTurn, requestId = "que_1") =>
  ({ turn: host, kind: "question", requestId, request: { questions: [] } }) as const;

/** What must be there already, and the write itself, which resolves with nothing once `fence` is superseded. */
const writes: [
  string,
  (turn: RunningTurn, fence: Fence) => Promise<unknown>,
  ((turn: RunningTurn) => Promise<unknown>)?,
][] = [
  [
    "what a takeover has to know of the prompt",
    ({ host, bootId }, fence) => storePrompting(fence, { turn: host, messageId: "msg_late", appliedEvent: 99, bootId }),
  ],
  [
    "the agent's session",
    ({ sessionId }, fence) =>
      storeAgentSession(fence, {
        sessionId,
        agentSessionId: "ses_late",
        directory: "/late",
        memory: { status: "fresh", cause: "late" },
      }),
  ],
  [
    "a message that joins",
    ({ queuedId, host }, fence) => claimJoin(fence, { turnId: queuedId, host, agentMessageId: "msg_late" }),
  ],
  [
    "a message that the agent did not take",
    ({ queuedId }, fence) => releaseJoin(fence, queuedId),
    ({ queuedId, host, held }) => claimJoin(held, { turnId: queuedId, host, agentMessageId: "msg_1" }),
  ],
  ["a question", ({ host }, fence) => insertAsk(fence, question(host))],
  [
    "a question that is not asked any more",
    async ({ read }, fence) => withdrawAsk(fence, String((await read()).asks[0]?.id)),
    ({ host, held }) => insertAsk(held, question(host)),
  ],
  [
    "the time that a person took",
    ({ turnId }, fence) => endWaiting(fence, turnId),
    async ({ host, held }) => withdrawAsk(held, await insertAsk(held, question(host))),
  ],
];

describe("under a lease that was taken over", () => {
  test.each(writes)("%s is not written", async (_name, write, prepare) => {
    const turn = await createRunningTurn();
    await prepare?.(turn);
    const before = await turn.read();
    await expect(write(turn, turn.superseded)).rejects.toMatchObject({ kind: "conflict", refusal: "lease-superseded" });
    expect(await turn.read()).toEqual(before);
    await write(turn, turn.held);
    expect(await turn.read()).not.toEqual(before);
  });
});

describe("the time that a person takes", () => {
  const minutesAgo = (turnId: string) =>
    test_.database.transaction(test_.viewer, (tx) =>
      tx.execute(sql`update turns set waiting_since = waiting_since - interval '5 minutes' where id = ${turnId}`),
    );
  const waited = async ({ sessionId }: RunningTurn) =>
    (await findOpenTurn(test_.database, test_.viewer, sessionId))?.waitedMilliseconds ?? 0;

  test("is stored on the turn: whoever takes it over knows it, while it lasts and afterwards", async () => {
    const turn = await createRunningTurn();
    const askId = await insertAsk(turn.held, question(turn.host));
    await minutesAgo(turn.turnId);
    expect(await waited(turn)).toBeGreaterThanOrEqual(300_000);
    await withdrawAsk(turn.held, askId);
    await endWaiting(turn.held, turn.turnId);
    const once = await waited(turn);
    expect(once).toBeGreaterThanOrEqual(300_000);
    expect((await turn.read()).turns[0]).toMatchObject({ waiting_since: null });
    await insertAsk(turn.held, question(turn.host, `que_${randomUUID()}`));
    await minutesAgo(turn.turnId);
    expect(await waited(turn)).toBeGreaterThanOrEqual(once + 300_000);
  });

  test("goes on until the last question was answered", async () => {
    const turn = await createRunningTurn();
    const first = await insertAsk(turn.held, question(turn.host, "que_1"));
    const second = await insertAsk(turn.held, question(turn.host, "que_2"));
    for (const [askId, isOver] of [
      [first, false],
      [second, true],
    ] as const) {
      await storeAnswer(test_.database, test_.viewer, { askId, answer: { answers: [["A"]] } });
      await endWaiting(turn.held, turn.turnId);
      expect((await turn.read()).turns[0]?.waiting_since === null).toBe(isOver);
    }
  });
});
