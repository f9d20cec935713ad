import { setTimeout as sleep } from "node:timers/promises";
import { eq } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { type LogRefusal, type LogWrite, logRefusal, writeLog } from "../../db/queries/write-log.ts";
import { sessions } from "../../db/schema/index.ts";
import type { Actor } from "../auth/index.ts";
import { AppError, isRefused } from "../errors.ts";
import { cleanJson } from "../lib/clean-text.ts";
import type { LogDelta, LogEntry } from "../protocol/log-entry.ts";
import { describeBatch, toEntry } from "./log-batch.ts";
import { createDrafts, type TakenDraft, textOf } from "./log-drafts.ts";
import type { LiveEvent, LogHub } from "./log-hub.ts";
import type { LogWriter } from "./session-log.ts";
import { turnEndChange } from "./turn-end-change.ts";

const batchMilliseconds = 40;
const maxPendingCharacters = 1024 * 1024;
/** Of the one entry in which a turn says what it waits for. */
const waitingKey = "waiting";
const retryPauses = [50, 200, 800, 2000, 4000];

export interface LogWriterInput {
  database: Database;
  hub: LogHub;
  origin: string;
  actor: Actor;
  sessionId: string;
  turnId: string | null;
  held: { sandboxId: string; leaseEpoch: number; bootId: string } | null;
  /** The turn's entries so far, and the session's counters; null for a turn that has written nothing. */
  restored: { entries: (LogEntry & { key: string })[]; version: number; lastNumber: number } | null;
}

/**
 * Holds a turn's entries in memory and writes what changed in batches, one after another. A batch
 * with a new entry leaves at once, since nothing of it may be shown before; mere growth waits up to
 * 40 ms. The first refusal (lease superseded, session gone) ends the writer: every call then throws it.
 */
export function createLogWriter(input: LogWriterInput): LogWriter {
  const { database, hub, origin, actor, sessionId, turnId, restored } = input;
  const drafts = createDrafts(restored?.entries ?? []);
  let held = input.held;
  let counters = restored ? { version: restored.version, number: restored.lastNumber } : null;
  let event: number | null = null;
  let title: string | null = null;
  let turn: object | null = null;
  let pendingCharacters = 0;
  let writing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let broken: unknown;
  let closed = false;
  const leave = hub.addWriter(sessionId, {
    flush: () => flush().catch(() => {}),
    told: async () => writing?.catch(() => {}),
  });

  const isDirty = () => drafts.dirty.size > 0 || title !== null || turn !== null;
  const tell = (event: LiveEvent) => hub.tell(sessionId, (viewer) => viewer.onEvent(event));
  const show = (deltas: readonly LogDelta[]) => {
    for (const data of deltas) tell({ event: "delta", data });
  };

  async function writeBatch(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const taken = drafts.take();
    const write: LogWrite = {
      tenantId: actor.tenantId,
      userId: actor.userId,
      sessionId,
      held,
      changes: describeBatch(taken, turnId),
      applied: held && event !== null ? { event, bootId: held.bootId } : null,
      title,
      turn: turn && cleanJson(turn),
      origin,
    };
    const stateChanged = title !== null || turn !== null;
    title = null;
    turn = null;
    pendingCharacters = 0;
    try {
      const { firstNumber, lastVersion } = await writeSurely(write, taken);
      counters = { version: lastVersion, number: firstNumber + taken.filter(isNew).length };
      publish(taken, { firstNumber, lastVersion });
      if (stateChanged) hub.tell(sessionId, (viewer) => viewer.onState());
    } catch (error) {
      drafts.putBack(taken);
      throw error;
    }
  }

  function publish(taken: readonly TakenDraft[], written: { firstNumber: number; lastVersion: number }): void {
    let number = written.firstNumber;
    for (const { draft } of taken) if (draft.number === null) draft.number = ++number;
    const firstVersion = written.lastVersion - taken.length + 1;
    for (const [index, { draft }] of taken.entries()) draft.version = firstVersion + index;
    const entries = taken.filter(({ change }) => change === "whole").map((one) => toEntry(one, turnId));
    tell({ event: "entries", data: { entries, version: written.lastVersion } });
    // Viewers now have what was written; what came meanwhile follows at once, unless it was not growth.
    for (const { draft, change, body } of taken) {
      if (change !== "whole" || !("text" in body) || !textOf(draft).startsWith(body.text)) continue;
      // One that was closed meanwhile follows whole.
      draft.live = draft.change !== "whole";
      const rest = textOf(draft).slice(body.text.length);
      if (rest) show([{ number: draft.number ?? 0, offset: body.text.length, text: rest }]);
    }
  }

  /** After a lost answer the counters tell whether the batch was written: nobody else writes here. */
  async function writeSurely(write: LogWrite, taken: readonly TakenDraft[]) {
    for (const pause of retryPauses) {
      try {
        return await writeLog(database, write);
      } catch (error) {
        const refusal = logRefusal(error);
        if (refusal) throw refusalError(refusal, error);
        if (!counters || closed) throw error;
        await sleep(pause, undefined, { ref: false });
        const found = await readCounters().catch(() => null);
        if (!found || found.version === counters.version) continue;
        if (found.version !== counters.version + taken.length || taken.length === 0) throw error;
        return { firstNumber: counters.number, lastVersion: found.version };
      }
    }
    return await writeLog(database, write);
  }

  async function readCounters(): Promise<{ version: number } | null> {
    const [row] = await database.transaction(actor, (tx) =>
      tx.select({ version: sessions.version }).from(sessions).where(eq(sessions.id, sessionId)),
    );
    return row ?? null;
  }

  function startBatch(): Promise<void> {
    writing ??= writeBatch()
      .catch((error: unknown) => {
        broken ??= error;
        throw error;
      })
      .finally(() => {
        writing = null;
        if (!broken && isDirty()) schedule();
      });
    return writing;
  }

  function schedule(): void {
    if (writing || broken || closed) return;
    const now = title !== null || turn !== null || [...drafts.dirty].some((draft) => draft.number === null);
    // A refusal is kept in `broken` and thrown to whoever calls next.
    if (now) startBatch().catch(() => {});
    else timer ??= setTimeout(() => startBatch().catch(() => {}), batchMilliseconds);
  }

  async function flush(): Promise<void> {
    if (broken) throw broken;
    if (writing) await writing;
    // The end of one batch may have begun the next, which then holds what was to be written.
    if (writing || isDirty()) await startBatch();
  }

  function requireUsable(): void {
    if (broken) throw broken;
    if (closed) throw new Error("The log writer was closed.");
  }

  async function discard(keys: readonly string[], attempt: number, reason: string): Promise<void> {
    // The entry that says so names numbers, which new entries have only once they are written.
    const named = drafts.discard(keys);
    await flush();
    const numbers = named.flatMap(({ number }) => (number === null ? [] : [number]));
    drafts.add("parts-discard", { numbers, attempt, reason });
  }

  async function addEntry(kind: LogEntry["kind"], body: LogEntry["body"]): Promise<LogEntry> {
    const draft = drafts.add(kind, body);
    await flush();
    return toEntry({ draft, body: draft.body, open: false }, turnId);
  }

  return {
    async add(kind, body) {
      requireUsable();
      return addEntry(kind, body);
    },
    async apply(changes, eventNumber) {
      requireUsable();
      for (const change of changes) {
        if (change.type === "title") title = change.title;
        else if (change.type === "discard") await discard(change.keys, change.attempt, change.reason);
        else {
          if (change.type === "append") pendingCharacters += change.text.length;
          show(drafts.apply(change));
        }
      }
      event = eventNumber;
      if (isDirty()) schedule();
      if (pendingCharacters > maxPendingCharacters) await flush();
    },
    hold(sandbox) {
      held = sandbox;
    },
    async beginTurn({ prompt, revision }) {
      requireUsable();
      turn = { begin: turnId, revision };
      if (prompt === null) await flush();
      else await addEntry("prompt", { text: prompt });
    },
    async joinTurn(joined) {
      requireUsable();
      drafts.add("prompt", { text: joined.prompt }, joined.turnId);
      await flush();
    },
    async waitTurn({ nextTryAt: at, ...wait }) {
      requireUsable();
      const nextTryAt = at.toISOString();
      const body = { phase: "waiting", ...wait, nextTryAt } as const;
      show(drafts.apply({ type: "open", key: waitingKey, kind: "sandbox-phase", body, under: null }));
      turn = { wait: turnId, nextTryAt };
      await flush();
    },
    async goOn() {
      requireUsable();
      show(drafts.apply({ type: "close", key: waitingKey, verbatim: null }));
      await flush();
    },
    async endTurn(end) {
      requireUsable();
      show(drafts.closeAll());
      await flush();
      if (end.usage) drafts.add("usage", end.usage);
      if (end.undone) drafts.add("turn-undo", { turnIds: end.undone });
      if (end.redone) drafts.add("turn-redo", { turnIds: end.redone });
      turn = turnEndChange(turnId, end);
      try {
        await addEntry("turn-end", {
          outcome: end.outcome,
          ...end.failure,
          ...(end.untold && { untold: true }),
          ...(end.machine && { machine: end.machine }),
        });
        return true;
      } catch (error) {
        if (isRefused(error, "turn-moved")) return false;
        throw error;
      }
    },
    flush,
    async close() {
      if (closed) return;
      try {
        if (!broken) await flush();
      } finally {
        closed = true;
        clearTimeout(timer);
        leave();
      }
    },
  };
}

const isNew = ({ draft }: TakenDraft) => draft.number === null;

function refusalError(refusal: LogRefusal, cause: unknown): AppError {
  const messages: Record<LogRefusal, string> = {
    "lease-superseded": "Another process took over this sandbox.",
    "turn-moved": "The turn is not in the state it was in.",
    "no-session": "There is no such session.",
  };
  const kind = refusal === "no-session" ? "not-found" : "conflict";
  return new AppError(kind, messages[refusal], { cause, refusal });
}
