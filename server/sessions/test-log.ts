import { sql } from "drizzle-orm";
import { adminInput, createTestAccounts, type TestAccounts } from "../accounts/test-accounts.ts";
import type { Viewer } from "../auth/index.ts";
import type { SessionEvent } from "../protocol/session-events.ts";
import { applySessionEvents, emptyViewerState, type ViewerState } from "../protocol/viewer-state.ts";
import { createSessionLog } from "./create-session-log.ts";
import { createSessions } from "./create-sessions.ts";
import { createLogHub, type LogHub } from "./log-hub.ts";
import type { LogWriter, SessionLog } from "./session-log.ts";

export interface TestLog extends TestAccounts {
  log: SessionLog;
  hub: LogHub;
  viewer: Viewer;
  /** A session with a running turn and a sandbox whose lease has the epoch 1. */
  begin(): Promise<{ sessionId: string; turnId: string; sandboxId: string; bootId: string; writer: LogWriter }>;
}

/** The real log on a real database, with a person who is signed in. */
export async function createTestLog(): Promise<TestLog> {
  const test = await createTestAccounts();
  await test.accounts.completeFirstRun(adminInput);
  const viewer = await test.signIn(adminInput.email);
  const hub = createLogHub();
  const log = createSessionLog({ database: test.database, hub });
  const sessions = createSessions({ database: test.database, log, release: async () => {} });

  return {
    ...test,
    log,
    hub,
    viewer,
    async begin() {
      const { id: sessionId } = await sessions.create(viewer);
      const ids = await test.database.transaction(viewer, async (tx) => {
        const [sandbox] = await tx.execute<{ id: string }>(sql`
          insert into sandboxes (tenant_id, user_id, backend, isolation, lease_epoch, private_session_id)
          values (${viewer.tenantId}, ${viewer.userId}, 'local', 'host', 1, ${sessionId}) returning id`);
        const [turn] = await tx.execute<{ id: string }>(sql`
          insert into turns (tenant_id, user_id, session_id, position, prompt, idempotency_key)
          values (${viewer.tenantId}, ${viewer.userId}, ${sessionId}, 1, 'Hello', 'key') returning id`);
        return { sandboxId: String(sandbox?.id), turnId: String(turn?.id) };
      });
      const bootId = crypto.randomUUID();
      const writer = await log.openWriter({
        actor: viewer,
        sessionId,
        turnId: ids.turnId,
        sandboxId: ids.sandboxId,
        leaseEpoch: 1,
        bootId,
        fresh: true,
      });
      await writer.beginTurn({ prompt: "Hello" });
      return { sessionId, ...ids, bootId, writer };
    },
    async [Symbol.asyncDispose]() {
      await log.close();
      await test[Symbol.asyncDispose]();
    },
  };
}

/** All pages of what changed after a version. */
export async function readAll({ log, viewer }: Pick<TestLog, "log" | "viewer">, sessionId: string, after = 0) {
  let state: ViewerState = { ...emptyViewerState, version: after };
  for (;;) {
    const page = await log.read({ actor: viewer, sessionId, after: state.version });
    if (!page) throw new Error("There is no such session.");
    state = applySessionEvents(state, [{ event: "entries", data: page }]);
    if (!page.more) return { entries: state.entries, version: state.version };
  }
}

/** Follows until `done`, or until the given number of events was seen; the state then goes on from there. */
export async function watch(input: {
  log: SessionLog;
  viewer: Viewer;
  sessionId: string;
  from?: ViewerState;
  until: (state: ViewerState, events: number) => boolean;
  onEvent?: (event: SessionEvent) => Promise<void> | void;
}): Promise<ViewerState> {
  const leaving = new AbortController();
  let state = input.from ?? emptyViewerState;
  let events = 0;
  const stream = input.log.follow({
    actor: input.viewer,
    sessionId: input.sessionId,
    after: state.version,
    signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(20_000)]),
  });
  for await (const event of stream) {
    await input.onEvent?.(event);
    state = applySessionEvents(state, [event]);
    events += 1;
    if (input.until(state, events)) leaving.abort();
  }
  if (!input.until(state, events)) throw new Error("The stream ended before what was awaited.");
  return state;
}

/** What people see: versions say when something was written, not what. */
export const shown = (state: ViewerState) => state.entries.map(({ version: _, ...entry }) => entry);

export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
