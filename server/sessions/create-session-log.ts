import { randomUUID } from "node:crypto";
import type { Database } from "../../db/client.ts";
import type { Actor } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import { followLog } from "./follow-log.ts";
import { followMany } from "./follow-many.ts";
import { createLogHub, type LogHub } from "./log-hub.ts";
import { type PageLimits, pageLimits, readChanges, readPage } from "./log-pages.ts";
import { createLogWriter } from "./log-writer.ts";
import { readQueue, readState, readTurnEntries } from "./read-log.ts";
import type { SessionLog } from "./session-log.ts";

const channel = "dormouse_log";

export interface SessionLogOptions {
  database: Database;
  /** Shared with whoever else tells viewers something, such as the file watch. */
  hub?: LogHub;
  limits?: PageLimits;
  /** Of this server: its sandboxes are not away. */
  homeId?: string;
}

export function createSessionLog(options: SessionLogOptions): SessionLog {
  const { database, hub = createLogHub(), limits = pageLimits, homeId = null } = options;
  const origin = randomUUID();
  const listener = database.listen([channel], {
    onNotify(_channel, payload) {
      const { sessionId, from, what } = parseNotice(payload);
      // Viewers of this process heard of its own writes already.
      if (from === origin) return;
      if (what !== "touch") hub.tell(sessionId, (viewer) => viewer.onBehind());
      if (what !== "") hub.tell(sessionId, (viewer) => viewer.onState());
    },
    onReady: () =>
      hub.tellAll((viewer) => {
        viewer.onBehind();
        viewer.onState();
      }),
  });

  /** All viewers of a session hear of a change at once and want the same: a read serves those who asked before it began. */
  const states = new Map<string, ReturnType<typeof readState>>();
  function shareState(actor: Actor, sessionId: string): ReturnType<typeof readState> {
    const key = `${actor.userId} ${sessionId}`;
    const coming = states.get(key);
    if (coming) return coming;
    const reading = new Promise<void>((begin) => setImmediate(begin)).then(() => {
      states.delete(key);
      return readState(database, actor, { sessionId, homeId });
    });
    states.set(key, reading);
    return reading;
  }

  const log: SessionLog = {
    origin,
    show(sessionId, data) {
      hub.tell(sessionId, (viewer) => {
        viewer.onEvent({ event: "entries", data });
        viewer.onState();
      });
    },
    async openWriter({ actor, sessionId, sandboxId, leaseEpoch, turnId, bootId, fresh, begun }) {
      const restored = fresh ? restoredFrom(begun) : await readTurnEntries(database, { actor, sessionId, turnId });
      if (!fresh && !restored) throw new AppError("not-found", "There is no such session.");
      const held = sandboxId && bootId ? { sandboxId, leaseEpoch, bootId } : null;
      return createLogWriter({ database, hub, origin, actor, sessionId, turnId, held, restored });
    },
    read: (input) => readChanges(database, { ...input, limits }),
    page: ({ under = null, before = null, ...input }) => readPage(database, { ...input, under, before, limits }),
    async readTurn(input) {
      const entries = (await readTurnEntries(database, input))?.entries ?? [];
      const keys = new Map(entries.map(({ number, key }) => [number, key]));
      return entries.map(({ key, kind, open, body, under }) => ({
        // What waits for an answer, or for the agent, is no part of the agent's message.
        key: kind === "ask" || kind === "sandbox-phase" ? null : key,
        kind,
        open,
        body,
        under: under === null ? null : (keys.get(under) ?? null),
      }));
    },
    follow: ({ actor, sessionId, after, signal }) =>
      followLog({
        hub,
        sessionId,
        actor,
        after,
        signal,
        read: (version) => readChanges(database, { actor, sessionId, after: version, limits }),
        state: () => shareState(actor, sessionId),
      }),
    followMany: (input) => followMany(log, input),
    async notifyViewers(sessionId) {
      hub.tell(sessionId, (viewer) => viewer.onState());
      await database.call("select pg_notify($1, $2)", [channel, `${sessionId} 0 ${origin} touch`], {
        repeatable: true,
      });
    },
    state: (actor, sessionId) => readState(database, actor, { sessionId, homeId }),
    queue: (actor, sessionId) => readQueue(database, actor, sessionId),
    close: () => listener.close(),
  };
  return log;
}

function restoredFrom(begun: { number: number; version: number } | null | undefined) {
  return begun ? { entries: [], version: begun.version, lastNumber: begun.number } : null;
}

/** `session version origin [state | touch]`, as write_log and `touch` send it. */
function parseNotice(payload: string): { sessionId: string; from: string; what: string } {
  const [sessionId = "", , from = "", what = ""] = payload.split(" ");
  return { sessionId, from, what };
}
