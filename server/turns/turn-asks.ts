import { randomUUID } from "node:crypto";
import type { AgentRequest, Translator, TurnSignal } from "../agent/index.ts";
import { isAppError } from "../errors.ts";
import type { EntryBody } from "../protocol/log-entry.ts";
import { type AskRow, endWaiting, findAsk, insertAsk, listTurnAsks, readPolicy, withdrawAsk } from "./ask-rows.ts";
import type { DrivenTurn } from "./drive-turn.ts";
import type { AskAnswer, PermissionReply } from "./index.ts";

type Asked = Extract<TurnSignal, { type: "permission-asked" | "question-asked" }>;
type Replied = Extract<TurnSignal, { type: "permission-replied" | "question-replied" }>;
type AskBody = EntryBody<"ask">;

/**
 * What the agent asks in one turn. Questions wait for a person, and so do permissions where the tenant's
 * policy says so; under `allow` and `deny` the agent was told beforehand, so that an ask is unexpected and
 * answered at once. What still waits when the turn ends is withdrawn with its end.
 */
export interface TurnAsks {
  /** How many wait for a person. */
  readonly pending: number;
  /** How long the agent has waited for a person in this turn, up to now. */
  readonly waitedMilliseconds: number;
  /** Whether an answer is stored of which nobody knows that the agent has it. */
  readonly owes: boolean;
  /** After a takeover: what waits already, and what was answered while nobody was here. */
  resume(): Promise<void>;
  /** After each connection to the agent: what was asked, or is not asked any more, while nobody listened. */
  poll(): Promise<void>;
  asked(signal: Asked): Promise<void>;
  replied(signal: Replied): Promise<void>;
  /** A person's answer is stored; the agent gets it. */
  answer(askId: string): Promise<void>;
  /** The turn ends: what is still being looked for is not asked any more. */
  close(): void;
}

export function createTurnAsks(driven: DrivenTurn, translator: Translator): TurnAsks {
  const { context, job, writer, connection, directory, fence, signal } = driven;
  const { database } = context;
  const { actor, turn } = job;
  const { client } = connection;
  const waiting = new Map<string, AskBody>();
  const owed = new Set<string>();
  let waited = turn.waitedMilliseconds;
  let waitingSince: number | null = null;
  let closed = false;
  const keyOf = (requestId: string) => `ask:${requestId}`;

  function addWaiting(body: AskBody): void {
    waitingSince ??= Date.now();
    waiting.set(body.agentRequestId, body);
  }

  async function goOn(): Promise<void> {
    if (waiting.size > 0) return;
    waited += waitingSince === null ? 0 : Date.now() - waitingSince;
    waitingSince = null;
    await endWaiting(fence, turn.id);
  }

  async function open(body: AskBody): Promise<void> {
    if (closed) return;
    const key = keyOf(body.agentRequestId);
    await writer.apply([{ type: "open", key, kind: "ask", body, under: null }], translator.state.lastNumber);
  }

  async function close(body: AskBody): Promise<void> {
    if (closed) return;
    const key = keyOf(body.agentRequestId);
    const changes = [{ type: "replace", key, body } as const, { type: "close", key, verbatim: body.request } as const];
    await writer.apply(changes, translator.state.lastNumber);
  }

  /** The agent was told what it may do and asks all the same. */
  async function answerAtOnce({ requestId, request }: Asked, reply: PermissionReply): Promise<void> {
    context.logger.warn(
      {
        metric: "opencode_unexpected_permission_ask",
        sessionId: turn.sessionId,
        permission: "permission" in request ? request.permission : null,
        reply,
      },
      "The agent asked for a permission that is decided already",
    );
    const ask = { askId: randomUUID(), agentRequestId: requestId, kind: "permission", request } as const;
    // Before it is in the log: a server that takes over looks for nobody to answer what it finds there.
    await client.replyPermission({ requestId, reply, directory, signal }).catch(ignoreGone);
    await open({ ...ask, state: "pending" });
    await close({ ...ask, state: "answered", answer: reply });
  }

  async function asked(asked: Asked): Promise<void> {
    if (closed) return;
    const { requestId, request } = asked;
    const kind = asked.type === "permission-asked" ? "permission" : "question";
    if (kind === "permission") {
      const policy = await readPolicy(database, actor);
      if (policy !== "ask") return answerAtOnce(asked, policy === "allow" ? "once" : "reject");
    }
    const askId = await insertAsk(fence, { turn, kind, requestId, request });
    // Stored beside the end of the turn, which may not have seen it.
    if (closed) return withdrawAsk(fence, askId);
    const body: AskBody = { askId, agentRequestId: requestId, kind, state: "pending", request };
    addWaiting(body);
    await open(body);
    // Whoever read the row at once may have answered before it was known here that it waits.
    await answer(askId);
  }

  async function answer(askId: string): Promise<void> {
    const ask = await findAsk(database, actor, askId);
    if (ask) await deliver(ask);
  }

  async function deliver({ requestId, answer }: AskRow): Promise<void> {
    const body = waiting.get(requestId);
    if (!body || answer === null) return;
    // Before it is sent: the agent's own word that it was replied is no news then.
    waiting.delete(requestId);
    try {
      await reply(requestId, answer);
      owed.delete(requestId);
    } catch (error) {
      addWaiting(body);
      owed.add(requestId);
      throw error;
    }
    await close(answeredWith(body, answer));
    await goOn();
  }

  async function reply(requestId: string, answer: AskAnswer): Promise<void> {
    const sent =
      "reply" in answer
        ? client.replyPermission({ requestId, reply: answer.reply, directory, signal })
        : client.replyQuestion({ requestId, answers: answer.answers, directory, signal });
    await sent.catch(ignoreGone);
  }

  async function withdraw(requestId: string): Promise<void> {
    const body = waiting.get(requestId);
    if (!body) return;
    waiting.delete(requestId);
    owed.delete(requestId);
    await withdrawAsk(fence, body.askId);
    // It was this person's answer that the agent heard, though nobody heard so.
    const answer = (await findAsk(database, actor, body.askId))?.answer;
    await goOn();
    await close(answer ? answeredWith(body, answer) : { ...body, state: "withdrawn" });
  }

  async function noticeAll(requests: readonly AgentRequest[], type: Asked["type"]): Promise<void> {
    const { root, children, asks } = translator.state;
    for (const { id, agentSessionId, request } of requests) {
      if (asks.has(id) || (agentSessionId !== root && !children.has(agentSessionId))) continue;
      asks.set(id, "asked");
      await asked({ type, requestId: id, request });
    }
  }

  return {
    get pending() {
      return waiting.size;
    },
    get owes() {
      return owed.size > 0;
    },
    get waitedMilliseconds() {
      return waited + (waitingSince === null ? 0 : Date.now() - waitingSince);
    },
    async resume() {
      for (const row of await listTurnAsks(database, actor, turn.id)) {
        const { askId, requestId, kind, request } = row;
        translator.state.asks.set(requestId, "asked");
        addWaiting({ askId, agentRequestId: requestId, kind, state: "pending", request });
        if (row.state === "answered") await deliver(row);
      }
      // What waited may have been withdrawn just before this process came.
      await goOn();
    },
    async poll() {
      const before = [...waiting.values()];
      const [permissions, questions] = await Promise.all([
        client.listPermissions(directory, signal),
        client.listQuestions(directory, signal),
      ]);
      await noticeAll(permissions, "permission-asked");
      await noticeAll(questions, "question-asked");
      const listed = new Set([...permissions, ...questions].map(({ id }) => id));
      for (const { agentRequestId, askId } of before) {
        const row = await findAsk(database, actor, askId);
        if (row?.state === "answered") await deliver(row);
        else if (!listed.has(agentRequestId)) await withdraw(agentRequestId);
      }
    },
    asked,
    replied: ({ requestId }) => withdraw(requestId),
    answer,
    close() {
      closed = true;
    },
  };
}

function answeredWith(body: AskBody, answer: AskAnswer): AskBody {
  return { ...body, state: "answered", answer: "reply" in answer ? answer.reply : answer.answers };
}

/** The agent no longer asks: it was answered elsewhere, or stopped. */
function ignoreGone(error: unknown): void {
  if (!isAppError(error) || error.kind !== "not-found") throw error;
}
