import type { Actor } from "../auth/index.ts";
import { AppError, isAppError } from "../errors.ts";
import { maxFollowedSessions } from "../protocol/limits.ts";
import type { Cursor, SessionEvent } from "../protocol/session-events.ts";
import type { SessionLog } from "./session-log.ts";

export interface ManyEvent {
  sessionId: string;
  event: SessionEvent;
  /** With the event's version in it; null for what carries none. */
  cursor: Cursor | null;
}

/** Each once; throws `invalid-input` for more than one connection takes. */
export function followedSessions(given: readonly string[]): string[] {
  const sessionIds = [...new Set(given)];
  if (sessionIds.length <= maxFollowedSessions) return sessionIds;
  throw new AppError(
    "invalid-input",
    `One connection follows at most ${maxFollowedSessions} sessions; this request names ${sessionIds.length}. Follow fewer, or open a second connection.`,
  );
}

/**
 * All sessions that one browser follows, on one connection. Sessions that are unknown, or removed
 * meanwhile, are left out; nothing left to follow is no reason to end, for the browser would only
 * connect again. Each session hands out its next event when its last one was taken.
 */
export async function* followMany(
  log: Pick<SessionLog, "follow">,
  input: { actor: Actor; sessionIds: readonly string[]; cursor: Cursor; signal: AbortSignal },
): AsyncGenerator<ManyEvent, void, undefined> {
  const sessionIds = followedSessions(input.sessionIds);
  const ending = new AbortController();
  const signal = AbortSignal.any([input.signal, ending.signal]);
  const ready: { sessionId: string; event: SessionEvent; taken(): void }[] = [];
  let failure: { error: unknown } | null = null;
  let wake = () => {};
  let cursor: Cursor = {};

  async function pump(sessionId: string): Promise<void> {
    const after = input.cursor[sessionId] ?? 0;
    for await (const event of input.signal.aborted ? [] : log.follow({ ...input, sessionId, after, signal })) {
      const { promise, resolve } = Promise.withResolvers<void>();
      ready.push({ sessionId, event, taken: resolve });
      wake();
      await promise;
    }
  }
  const pumps = sessionIds.map((sessionId) =>
    pump(sessionId).catch((error: unknown) => {
      if (isAppError(error) && error.kind === "not-found") return;
      failure ??= { error };
      wake();
    }),
  );
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  for (const sessionId of sessionIds) {
    const version = input.cursor[sessionId];
    if (version !== undefined) cursor = { ...cursor, [sessionId]: version };
  }

  try {
    while (!signal.aborted) {
      if (failure) throw (failure as { error: unknown }).error;
      const next = ready.shift();
      if (!next) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const { sessionId, event, taken } = next;
      if (event.event === "entries") cursor = { ...cursor, [sessionId]: event.data.version };
      yield { sessionId, event, cursor: event.event === "entries" ? cursor : null };
      taken();
    }
  } finally {
    ending.abort();
    signal.removeEventListener("abort", onAbort);
    for (const { taken } of ready) taken();
    await Promise.all(pumps);
  }
}
