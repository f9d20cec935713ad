import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createDatabase } from "../../db/client.ts";
import { AppError } from "../errors.ts";
import type { LogEntryOf } from "../protocol/log-entry.ts";
import type { ViewerState } from "../protocol/viewer-state.ts";
import { createSidecarClient } from "../sandboxes/create-sidecar-client.ts";
import { createSandboxPrograms, type SandboxPrograms } from "./test-programs.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";

// Everything is real and shares one sandbox, which a test may lose.
let server: TestServer;
let programs: SandboxPrograms;
/** What a call to the sidecar fails with, before it is made. */
let fault: ((path: string) => Error | null) | null = null;
let isDatabaseAway = false;
beforeAll(async () => {
  server = await createTestServer(
    {},
    {
      createSidecarClient(options) {
        const client = createSidecarClient(options);
        const send: typeof client.send = async (request) => {
          const failure = fault?.(request.path);
          if (failure) throw failure;
          return client.send(request);
        };
        return { ...client, send };
      },
      createDatabase(url) {
        const database = createDatabase(url);
        const away = () => Promise.reject(Object.assign(new Error("The connection is gone."), { code: "ECONNRESET" }));
        return {
          ...database,
          transaction: (actor, work) => (isDatabaseAway ? away() : database.transaction(actor, work)),
          call: (statement, parameters) => (isDatabaseAway ? away() : database.call(statement, parameters)),
        };
      },
    },
  );
  programs = createSandboxPrograms(server.home);
}, 120_000);
afterEach(() => {
  fault = null;
  isDatabaseAway = false;
  for (const program of ["agent", "sidecar"] as const) programs.signal(program, "SIGCONT");
});
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 180_000 };
const finished = { outcome: "finished" };
const endsOf = (state: ViewerState) => ends(state).map(({ body }) => body);
const phasesOf = ({ entries }: ViewerState) => entries.filter((entry) => entry.kind === "sandbox-phase");
const waitingOf = (state: ViewerState): LogEntryOf<"sandbox-phase">[] =>
  phasesOf(state).filter(({ body }) => body.phase === "waiting");
const waits =
  (tries = 1) =>
  (state: ViewerState) =>
    waitingOf(state).some(({ open, body }) => open && (body.tries ?? 0) >= tries);

async function opened(): Promise<string> {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
  return sessionId;
}

function promptsOf({ entries }: ViewerState): string[] {
  return entries.flatMap((entry) => (entry.kind === "prompt" ? [entry.body.text] : []));
}

const cannotReach = () => new AppError("unavailable", "The sidecar cannot be reached.");

describe("a turn that cannot be handed to the agent", () => {
  test("waits, says why and until when in one entry, and is answered once that has passed", patience, async () => {
    const sessionId = await opened();
    fault = (path) => (path.endsWith("/prompt_async") ? cannotReach() : null);
    const turnId = await server.prompt(sessionId, "What is my name?");
    await server.prompt(sessionId, "and again, what is my name?");
    const waiting = await server.follow(sessionId, waits(2));
    const [entry, ...others] = waitingOf(waiting);
    expect(others).toEqual([]);
    expect(entry?.turnId).toBe(turnId);
    expect(entry?.body).toMatchObject({ phase: "waiting", message: "The sidecar cannot be reached." });
    expect(Date.parse(entry?.body.nextTryAt ?? "")).toBeGreaterThan(Date.now() - 60_000);
    expect(waiting.session).toMatchObject({ runningTurnId: turnId, queue: [{ kind: "prompt" }] });
    fault = null;
    const state = await server.follow(sessionId, ended(3));
    expect(endsOf(state)).toEqual([finished, finished, finished]);
    expect(promptsOf(state)).toHaveLength(3);
    expect(waitingOf(state)).toMatchObject([{ number: entry?.number, open: false }]);
    const rows = await server.database.transaction(server.viewer, (tx) =>
      tx.execute(sql`select tries from turns where id = ${turnId}`),
    );
    expect(Number(rows[0]?.tries)).toBeGreaterThanOrEqual(2);
  });

  test("is tried at once when somebody wants that, and can be stopped", patience, async () => {
    const sessionId = await server.newSession();
    const { turns } = server.services;
    expect(await turns.tryNow(server.viewer, sessionId)).toBe(false);
    // Asked once, before the agent has a session: that fails at once.
    fault = (path) => (path.startsWith("/agent/session?") ? cannotReach() : null);
    await server.prompt(sessionId, "my name is Bo");
    await server.follow(sessionId, waits(1));
    let tries = 1;
    // Each time well before it would be due by itself.
    for (; tries < 6; tries++) {
      await expect.poll(() => turns.tryNow(server.viewer, sessionId), { timeout: 30_000 }).toBe(true);
      await server.follow(sessionId, waits(tries + 1));
    }
    await turns.stop(server.viewer, sessionId);
    const state = await server.follow(sessionId, ended());
    expect(endsOf(state)).toEqual([{ outcome: "stopped" }]);
    expect(state.entries.filter(({ open }) => open)).toEqual([]);
    expect(await turns.tryNow(server.viewer, sessionId)).toBe(false);
  });

  test("goes on waiting after a restart of the server, and is answered by the next one", patience, async () => {
    const sessionId = await opened();
    fault = (path) => (path.endsWith("/prompt_async") ? cannotReach() : null);
    await server.prompt(sessionId, "What is my name?");
    await server.follow(sessionId, waits(1));
    await server.restart();
    const waiting = await server.follow(sessionId, waits(2));
    expect(waitingOf(waiting)).toHaveLength(1);
    fault = null;
    await server.services.turns.tryNow(server.viewer, sessionId);
    const state = await server.follow(sessionId, ended(2));
    expect(endsOf(state)).toEqual([finished, finished]);
    expect(promptsOf(state)).toHaveLength(2);
    expect(textOf(state)).toContain("Your name is Ada.");
  });

  test("fails at once with its cause where waiting does not help", patience, async () => {
    const sessionId = await opened();
    fault = (path) => (path.endsWith("/prompt_async") ? new AppError("forbidden", "You may not.") : null);
    await server.prompt(sessionId, "my name is Bo");
    const state = await server.follow(sessionId, ended(2));
    expect(endsOf(state)[1]).toMatchObject({ outcome: "failed", message: "You may not." });
    expect(waitingOf(state)).toEqual([]);
  });
});

describe("no prompt is lost", () => {
  test("when the agent stands still, with turns waiting behind", patience, async () => {
    const sessionId = await opened();
    programs.signal("agent", "SIGSTOP");
    for (const prompt of ["one", "two", "three"]) await server.prompt(sessionId, `my name is ${prompt}`);
    await server.follow(sessionId, waits(1));
    programs.signal("agent", "SIGCONT");
    const state = await server.follow(sessionId, ended(4));
    expect(endsOf(state)).toEqual([finished, finished, finished, finished]);
    expect(promptsOf(state)).toHaveLength(4);
  });

  test("when the sidecar stands still", patience, async () => {
    const sessionId = await opened();
    programs.signal("sidecar", "SIGSTOP");
    for (const prompt of ["one", "two"]) await server.prompt(sessionId, `my name is ${prompt}`);
    await server.follow(sessionId, waits(1));
    programs.signal("sidecar", "SIGCONT");
    expect(endsOf(await server.follow(sessionId, ended(3)))).toEqual([finished, finished, finished]);
  });

  test("when the database is away while it is handed over, or while it is answered", patience, async () => {
    const sessionId = await server.newSession();
    /** Resolves when it is back: till then nobody could follow either. */
    const loseDatabase = (at: string) =>
      new Promise<void>((resolve) => {
        fault = (path) => {
          if (!path.includes(at)) return null;
          fault = null;
          isDatabaseAway = true;
          setTimeout(() => {
            isDatabaseAway = false;
            resolve();
          }, 1_500);
          return null;
        };
      });
    // Its answer is to be stored when the database is away.
    let isBack = loseDatabase("/agent/session?");
    await server.prompt(sessionId, "my name is Ada");
    await isBack;
    expect(endsOf(await server.follow(sessionId, ended()))).toEqual([finished]);
    isBack = loseDatabase("/prompt_async");
    await server.prompt(sessionId, "What is my name?");
    await isBack;
    const state = await server.follow(sessionId, ended(2));
    expect(endsOf(state)).toEqual([finished, finished]);
    expect(textOf(state)).toContain("Your name is Ada.");
  });

  test("when the agent dies each time that it starts, for a while", patience, async () => {
    const sessionId = await opened();
    let kills = 6;
    const killing = setInterval(() => {
      if (kills > 0 && programs.signal("agent", "SIGKILL")) kills -= 1;
    }, 200);
    try {
      for (const prompt of ["one", "two", "three"]) await server.prompt(sessionId, `my name is ${prompt}`);
      const state = await server.follow(sessionId, ended(4));
      expect(endsOf(state).slice(0, 1)).toEqual([finished]);
      for (const end of endsOf(state).slice(1)) {
        // Only what was handed over may have been cut.
        if (end && "outcome" in end && end.outcome === "failed") expect(end).toMatchObject({ code: "agent-exited" });
        else expect(end).toEqual(finished);
      }
      expect(endsOf(state).filter((end) => end && "outcome" in end && end.outcome === "failed").length).toBeLessThan(2);
    } finally {
      clearInterval(killing);
    }
  });
});
