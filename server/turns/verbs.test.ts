import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type AgentClient, createAgentClient } from "../agent/index.ts";
import type { ViewerState } from "../protocol/viewer-state.ts";
import { createSandboxPrograms, type SandboxPrograms } from "./test-programs.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";
import { input, makeFile, makeKnown, outputsOf } from "./test-verbs.ts";
import { createTestWords } from "./test-words.ts";

// Undo, redo and summaries that are stopped, or whose answer is lost: everything is real and shares one sandbox.
const words = createTestWords();
let server: TestServer;
let programs: SandboxPrograms;
/** Around the calls that change the agent's session. */
let during: Partial<Record<"revert" | "unrevert" | "summarize", (call: () => Promise<void>) => Promise<void>>> = {};
/** Whether the server soon loses patience with them. */
let isHasty = false;
let isDeafToStops = false;
let client: AgentClient;

beforeAll(async () => {
  server = await createTestServer(
    {},
    {
      demoPace: words,
      createAgentClient({ sidecar }) {
        const patient = createAgentClient({ sidecar });
        client = patient;
        const hasty = createAgentClient({ sidecar, timeouts: { request: 1_000 } });
        const change = (name: keyof typeof during, call: (client: AgentClient) => Promise<void>) => {
          const sent = () => call(isHasty ? hasty : patient);
          return during[name]?.(sent) ?? sent();
        };
        return {
          ...patient,
          revert: (input) => change("revert", (client) => client.revert(input)),
          unrevert: (id, signal) => change("unrevert", (client) => client.unrevert(id, signal)),
          abort: (id, signal) => (isDeafToStops ? hang(signal) : patient.abort(id, signal)),
          summarize: (input) => change("summarize", (client) => client.summarize(input)),
        };
      },
    },
  );
  programs = createSandboxPrograms(server.home);
}, 120_000);
afterAll(async () => {
  await server.close();
}, 60_000);
beforeEach(() => {
  during = {};
  isHasty = false;
  isDeafToStops = false;
  words.allowAll();
});

const patience = { timeout: 120_000 };
const turns = () => server.services.turns;

/** The agent has begun to write it, and says no more until it is allowed to. */
async function beginSummary(): Promise<string> {
  const sessionId = await makeKnown(server);
  words.allow(2);
  const { id } = await turns().compact(server.viewer, input(sessionId));
  await server.follow(sessionId, isSaying(id));
  return sessionId;
}

/** With a prompt of its own, which gives whatever is still to be looked at its chance. */
async function expectAgreement(sessionId: string, made: string, turnsSoFar: number): Promise<boolean> {
  await server.prompt(sessionId, "what do you remember");
  const { entries } = await server.follow(sessionId, ended(turnsSoFar + 1));
  const last = entries.filter(({ turnId }) => turnId === entries.at(-1)?.turnId);
  const isUndone = (await turns().find(server.viewer, { sessionId, turnId: made }))?.undoneAt !== null;
  expect({ known: textOf({ entries: last }).includes("Bo"), files: await outputsOf(server, sessionId) }).toEqual(
    isUndone ? { known: false, files: [] } : { known: true, files: ["outputs/made.txt"] },
  );
  const said = entries.flatMap((entry) => (/^turn-(un|re)do$/.test(entry.kind) ? [entry.kind] : [])).at(-1);
  expect(said === "turn-undo").toBe(isUndone);
  return isUndone;
}

async function isIdle(sessionId: string): Promise<boolean> {
  const [row] = await server.database.transaction(server.viewer, (tx) =>
    tx.execute<{ agent_directory: string }>(sql`select agent_directory from sessions where id = ${sessionId}`),
  );
  return (await client.listBusy(String(row?.agent_directory), AbortSignal.timeout(10_000))).length === 0;
}

const hang = (until: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (until.aborted) reject(until.reason);
    else until.addEventListener("abort", () => reject(until.reason));
  });

const isSaying = (turnId: string) => (state: ViewerState) =>
  state.entries.some((entry) => entry.turnId === turnId && entry.kind === "agent_thought" && entry.body.text !== "");

async function expectOwnAnswer(sessionId: string, turnsSoFar: number): Promise<ViewerState> {
  await server.prompt(sessionId, "what is my name?");
  const after = await server.follow(sessionId, ended(turnsSoFar + 1));
  const last = after.entries.filter(({ turnId }) => turnId === after.entries.at(-1)?.turnId);
  expect(ends({ entries: last })[0]?.body).toEqual({ outcome: "finished" });
  expect(textOf({ entries: last })).toContain("Your name is Ada");
  return after;
}

const notes = (entries: readonly { kind: string; body: object }[]) =>
  entries.filter(({ kind, body }) => kind === "memory-note" && !("discarded" in body && body.discarded));

/** The agent stands still with that call on its way, and somebody stops the turn. */
function freezeDuring(name: keyof typeof during, sessionId: string): void {
  isHasty = true;
  during[name] = async (call) => {
    programs.signal("agent", "SIGSTOP");
    await turns().stop(server.viewer, sessionId);
    await call();
  };
}

test("an undo or redo that is stopped while the agent does it is finished, and said to be", patience, async () => {
  const { sessionId, made } = await makeFile(server);
  const stopping = async (call: () => Promise<void>) => {
    const done = call();
    done.catch(() => {});
    await turns().stop(server.viewer, sessionId);
    await done;
  };
  during = { revert: stopping, unrevert: stopping };
  await turns().undo(server.viewer, input(sessionId));
  const undone = await server.follow(sessionId, ended(3));
  expect(ends(undone)[2]?.body).toMatchObject({ outcome: "finished" });
  expect(undone.entries.findLast(({ kind }) => kind === "turn-undo")?.body).toEqual({ turnIds: [made] });
  expect(await outputsOf(server, sessionId)).toEqual([]);
  await turns().redo(server.viewer, input(sessionId));
  const redone = await server.follow(sessionId, ended(4));
  expect(ends(redone)[3]?.body).toMatchObject({ outcome: "finished" });
  expect(await expectAgreement(sessionId, made, 4)).toBe(false);
});

test("a summary that is stopped is none, and the next prompt gets its own answer", patience, async () => {
  const sessionId = await beginSummary();
  await turns().stop(server.viewer, sessionId);
  const stopped = await server.follow(sessionId, ended(2));
  expect(ends(stopped)[1]?.body).toEqual({ outcome: "stopped" });
  expect(notes(stopped.entries)).toEqual([]);
  words.allowAll();
  const after = await expectOwnAnswer(sessionId, 2);
  expect(notes(after.entries)).toEqual([]);
});

test("an undo of which nobody hears is in the log before the next turn begins", patience, async () => {
  const { sessionId, made } = await makeFile(server);
  freezeDuring("revert", sessionId);
  try {
    await turns().undo(server.viewer, input(sessionId));
    const end = ends(await server.follow(sessionId, ended(3)))[2]?.body;
    expect(end).toMatchObject({ outcome: "failed", code: "unknown" });
  } finally {
    programs.signal("agent", "SIGCONT");
  }
  expect(await expectAgreement(sessionId, made, 3)).toBe(true);
  await expect(turns().redo(server.viewer, input(sessionId))).rejects.toMatchObject({ kind: "conflict" });
});

test("another undo after one of which nobody heard takes back no more than that", patience, async () => {
  const { sessionId, made } = await makeFile(server);
  freezeDuring("revert", sessionId);
  try {
    await turns().undo(server.viewer, input(sessionId));
    await server.follow(sessionId, ended(3));
  } finally {
    programs.signal("agent", "SIGCONT");
  }
  during = {};
  await server.restart();
  await turns().undo(server.viewer, input(sessionId));
  const state = await server.follow(sessionId, ended(4));
  expect(state.entries.findLast(({ kind }) => kind === "turn-undo")?.body).toEqual({ turnIds: [made] });
  // And it can be brought back, though of that nobody hears either.
  freezeDuring("unrevert", sessionId);
  try {
    await turns().redo(server.viewer, input(sessionId));
    await server.follow(sessionId, ended(5));
  } finally {
    programs.signal("agent", "SIGCONT");
  }
  expect(await expectAgreement(sessionId, made, 5)).toBe(false);
});

test(
  "a summary that the agent's death cut is forgotten, and the next prompt gets its own answer",
  patience,
  async () => {
    const sessionId = await beginSummary();
    programs.signal("agent", "SIGKILL");
    const cut = await server.follow(sessionId, ended(2));
    expect(ends(cut)[1]?.body).toMatchObject({ outcome: "failed" });
    expect(notes(cut.entries)).toEqual([]);
    words.allowAll();
    await expectOwnAnswer(sessionId, 2);
  },
);

test("a summary that is written after its turn has ended is in the log before the next turn", patience, async () => {
  const sessionId = await beginSummary();
  isDeafToStops = true;
  await turns().stop(server.viewer, sessionId);
  const stopped = await server.follow(sessionId, ended(2));
  expect(ends(stopped)[1]?.body).toMatchObject({ outcome: "stopped" });
  expect(notes(stopped.entries)).toEqual([]);
  words.allowAll();
  await expect.poll(() => isIdle(sessionId), { timeout: 30_000 }).toBe(true);
  isDeafToStops = false;
  const after = await expectOwnAnswer(sessionId, 2);
  expect(notes(after.entries)).toMatchObject([{ body: { status: "compacted" } }]);
});
