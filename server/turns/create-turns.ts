import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../db/client.ts";
import { createAgentIds } from "../agent/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { Lifecycle } from "../lifecycle/index.ts";
import type { TurnCosts } from "../models/index.ts";
import { sessionId as sessionIdSchema, tenantId, userId } from "../protocol/ids.ts";
import type { SessionLog } from "../sessions/index.ts";
import type { Archives } from "../snapshots/index.ts";
import { type CreateAgentClient, createAgentConnections } from "./agent-connections.ts";
import { findAsk, listPendingAsks, storeAnswer } from "./ask-rows.ts";
import { beginOrQueue } from "./begin-or-queue.ts";
import { changeQueue, requirePrompt } from "./change-queue.ts";
import type { Turns } from "./index.ts";
import { createPendingAborts } from "./pending-aborts.ts";
import { createSessionRunners } from "./session-runners.ts";
import { type TurnLimits, turnLimits } from "./turn-context.ts";
import { isWaiting, listSessionsBeside, listTurns, listWaiting, requestStop } from "./turn-rows.ts";

export interface TurnsOptions {
  database: Database;
  log: SessionLog;
  lifecycle: Lifecycle;
  archives: Pick<Archives, "openWorkspace" | "whenReplaced">;
  costs: TurnCosts;
  logger: Pick<Logger, "warn" | "error">;
  limits?: Partial<TurnLimits> | undefined;
  /** For tests that let calls to the agent fail. */
  createAgentClient?: CreateAgentClient | undefined;
}

const channel = "dormouse_turns";
const turnsInPage = 50;
const releaseMilliseconds = 15_000;
const releasePauseMilliseconds = 200;

/** Turns through any process: what concerns a turn that another one runs is told to it by NOTIFY. */
export function createTurns(options: TurnsOptions): Turns {
  const { database, log, lifecycle, archives, costs, logger } = options;
  const limits = { ...turnLimits, ...options.limits };
  const agents = createAgentConnections(options.createAgentClient);
  const { settleMilliseconds } = limits;
  const aborts = createPendingAborts({ database, agents, lifecycle, logger, settleMilliseconds });
  const context = {
    database,
    log,
    lifecycle,
    archives,
    costs,
    agents,
    aborts,
    ids: createAgentIds(),
    limits,
    logger,
    onElsewhere({ tenantId: tenant, userId: user }: Actor, sessionId: string) {
      inBackground(tell(`queued ${sessionId} ${tenant} ${user}`));
    },
  };
  const runners = createSessionRunners(context);
  const listener = database.listen([channel], {
    onNotify(_channel, payload) {
      const [what, sessionId = "", first = "", second = ""] = payload.split(" ");
      if (what === "stop") runners.stop(sessionId, first);
      else if (what === "answer") runners.answered(sessionId, first);
      else if (what === "join") runners.join(sessionId);
      else if (what === "try") runners.tryNow(sessionId);
      else if (what === "queued") {
        runners.kick({ tenantId: tenantId.parse(first), userId: userId.parse(second), role: "user" }, sessionId);
      }
    },
    onReady() {
      runners
        .lookAgain()
        .catch((error: unknown) => logger.error({ err: error }, "Missed changes could not be looked up"));
    },
  });
  const tell = (message: string) => database.call("select pg_notify($1, $2)", [channel, message], { repeatable: true });
  const inBackground = (telling: Promise<unknown>) => {
    telling.catch((error: unknown) => logger.error({ err: error }, "Other servers could not be notified"));
  };

  async function sweep(atBoot: boolean): Promise<void> {
    for (const { actor, sessionId } of await listWaiting(database)) runners.kick(actor, sessionId, { atBoot });
    await aborts.sweep();
  }

  async function stop(actor: Parameters<Turns["stop"]>[0], sessionId: string): Promise<boolean> {
    if (!sessionIdSchema.safeParse(sessionId).success) return false;
    const turnId = await requestStop(database, actor, sessionId);
    if (!turnId) return false;
    runners.stop(sessionId, turnId);
    // Where nobody else can end it.
    runners.kick(actor, sessionId);
    await tell(`stop ${sessionId} ${turnId}`);
    await log.notifyViewers(sessionId);
    return true;
  }

  const queue = changeQueue({
    database,
    onChanged: (sessionId) => log.notifyViewers(sessionId),
    onQueued: (actor, sessionId) => runners.kick(actor, sessionId, { tells: true }),
    async onSendNow(sessionId) {
      runners.join(sessionId);
      await tell(`join ${sessionId}`);
    },
  });

  return {
    ...queue,
    async start(actor, { sessionId, prompt, idempotencyKey }) {
      const text = requirePrompt(prompt);
      const isKnown = sessionIdSchema.safeParse(sessionId).success;
      const accepted = isKnown
        ? await beginOrQueue(context, actor, { sessionId, prompt: text, idempotencyKey, runners })
        : null;
      if (!accepted) throw new AppError("not-found", "There is no such session.");
      if ("begun" in accepted) runners.kick(actor, sessionId, { next: accepted.begun });
      else if ("queued" in accepted) {
        const begins = runners.kick(actor, sessionId, { next: accepted.queued, tells: true });
        // Where it begins at once, its beginning is what viewers are told.
        if (!begins) inBackground(log.notifyViewers(sessionId));
      }
      return accepted.turn;
    },
    stop,
    async tryNow(actor, sessionId) {
      const isKnown = sessionIdSchema.safeParse(sessionId).success;
      if (!isKnown || !(await isWaiting(database, actor, sessionId))) return false;
      runners.tryNow(sessionId);
      await tell(`try ${sessionId}`);
      return true;
    },
    async list(actor, sessionId, { before = null, limit = turnsInPage } = {}) {
      const isKnown = sessionIdSchema.safeParse(sessionId).success;
      return isKnown ? listTurns(database, actor, { sessionId, before, limit }) : { turns: [], earlier: null };
    },
    async listAsks(actor, sessionId) {
      if (!sessionIdSchema.safeParse(sessionId).success) return [];
      const rows = await listPendingAsks(database, actor, sessionId);
      return rows.map(({ askId: id, kind, state, request, answer }) => ({
        id,
        sessionId,
        kind,
        state,
        request,
        answer,
      }));
    },
    async answer(actor, { askId, answer }) {
      const isKnown = sessionIdSchema.safeParse(askId).success;
      const ask = isKnown ? await storeAnswer(database, actor, { askId, answer }) : null;
      if (!ask) {
        const known = isKnown && (await findAsk(database, actor, askId));
        if (known && known.state === "pending") {
          const wanted =
            known.kind === "permission" ? "a reply: once, always or reject" : "one answer for each question";
          throw new AppError("invalid-input", `Send ${wanted}.`);
        }
        if (known) throw new AppError("conflict", "This question was already answered or is no longer open.");
        throw new AppError("not-found", "There is no such question.");
      }
      runners.answered(ask.sessionId, askId);
      await tell(`answer ${ask.sessionId} ${askId}`);
    },
    async continueHere(actor, sessionId) {
      const isKnown = sessionIdSchema.safeParse(sessionId).success;
      if (!isKnown) throw new AppError("not-found", "There is no such session.");
      if (!(await lifecycle.continueHere({ actor, sessionId }))) return;
      // All sessions of the sandbox: their viewers hear of it, and what waits in them begins.
      await Promise.all((await listSessionsBeside(database, actor, sessionId)).map((id) => log.notifyViewers(id)));
      await sweep(false);
    },
    async release(actor, sessionId) {
      const deadline = Date.now() + releaseMilliseconds;
      while ((await stop(actor, sessionId)) && Date.now() < deadline) {
        // Where another process runs it, nothing here hears of its end.
        if (runners.isRunning(sessionId)) await runners.turnEnd(sessionId, deadline - Date.now());
        else await sleep(releasePauseMilliseconds);
      }
    },
    resume: () => sweep(true),
    sweep: () => sweep(false),
    async close() {
      await listener.close();
      await runners.close();
      await aborts.close();
      await agents.close();
    },
  };
}
