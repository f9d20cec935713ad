import { sql } from "drizzle-orm";
import { expect } from "vitest";
import type { ViewerState } from "../server/protocol/viewer-state.ts";
import type { Turn } from "../server/turns/index.ts";
import { ends, textOf } from "../server/turns/test-turns.ts";
import { listPending, listTurns, type Schedule } from "./schedule.ts";
import { expectNextIsClean } from "./turn-faults.ts";

/** Whatever happened: log, turns, files and the agent's memory say the same, and the next turn is as any other. */
export async function expectAgreement(schedule: Schedule): Promise<void> {
  const { test, sessionId } = schedule;
  // Whatever was still to be found out is found out before it.
  const asked = await test.server.prompt(sessionId, "what do you remember");
  const isOver = (state: ViewerState) => ends(state).some(({ turnId }) => turnId === asked);
  const state = await test.follow({ sessionId, turnIds: [] }, isOver, 120_000);
  const turns = await listTurns(schedule);

  expectEnds(state, turns);
  await expectAsks(schedule, state, turns);
  expect(turns.find(({ id }) => id === asked)).toMatchObject({ state: "finished" });
  expect(await isInDoubt(schedule), "nothing is left that nobody could be told").toBe(false);
  const lost = [...schedule.told].filter(([id, what]) => what && !turns.some((turn) => turn.id === id));
  expect(lost, "what was accepted is there").toEqual([]);

  const answer = textOf({ entries: state.entries.filter(({ turnId }) => turnId === asked) });
  expectMemory(schedule, turns, answer);
  await expectFilesAndMemory(schedule, turns, answer);
  await expectNextIsClean(test, { sessionId, turnIds: ends(state).map(({ turnId }) => turnId ?? "") });
}

function expectEnds(state: ViewerState, turns: Turn[]): void {
  expect(state.entries.filter(({ open }) => open)).toEqual([]);
  const atWork = ({ kind, body }: ViewerState["entries"][number]) =>
    kind === "tool_call" && !body.discarded && (body.status === "pending" || body.status === "in_progress");
  expect(state.entries.filter(atWork)).toEqual([]);
  const hosts = turns.filter(({ hostTurnId }) => hostTurnId === null).map(({ id }) => id);
  const ended = ends(state).map(({ turnId }) => turnId);
  expect([...ended].sort(), "each turn ends once").toEqual([...hosts].sort());
  for (const { turnId, body } of ends(state)) {
    expect(body).toMatchObject({ outcome: turns.find(({ id }) => id === turnId)?.state });
  }
}

/** An answer that was accepted has been heard, unless the turn ended before it could be. */
async function expectAsks(schedule: Schedule, state: ViewerState, turns: Turn[]): Promise<void> {
  expect(await listPending(schedule)).toEqual([]);
  const finished = turns.filter((turn) => turn.state === "finished").map(({ id }) => id);
  const wrong = state.entries.filter(
    ({ kind, body, turnId }) =>
      kind === "ask" &&
      schedule.answered.has(body.askId) &&
      finished.includes(turnId ?? "") &&
      body.state !== "answered",
  );
  expect(wrong, "no answer is withdrawn").toEqual([]);
}

async function isInDoubt({ test: { server }, sessionId }: Schedule): Promise<boolean> {
  const rows = await server.database.transaction(server.viewer, (tx) =>
    tx.execute(sql`select from sessions where id = ${sessionId} and abort_unconfirmed_at is not null`),
  );
  return rows.length > 0;
}

/** Each prompt was heard once, and what was taken back never. */
function expectMemory({ told, neverTold }: Schedule, turns: Turn[], answer: string): void {
  expect(neverTold.filter((fact) => answer.includes(fact))).toEqual([]);
  // A summary may repeat what stands beside it.
  if (turns.some(({ kind }) => kind === "compact")) return;
  const facts = [...told.values()].flatMap((what) => what?.fact ?? []);
  expect(facts.filter((fact) => answer.split(fact).length > 2)).toEqual([]);
}

async function expectFilesAndMemory(schedule: Schedule, turns: Turn[], answer: string): Promise<void> {
  const { test, sessionId, told } = schedule;
  const { server } = test;
  const signal = AbortSignal.timeout(30_000);
  const listed = await server.services.files.list(server.viewer, { sessionId, path: "outputs", signal });
  const files = listed.entries.map(({ path }) => path);
  const found: object[] = [];
  const expected: object[] = [];
  for (const { id, prompt, state: outcome, undoneAt, hostTurnId } of turns) {
    const what = told.get(id);
    const isKnown = undoneAt === null;
    // What was cut may have reached the agent or not.
    if (!what || (isKnown && outcome !== "finished")) continue;
    // Of prompts that ended together the last one alone need have been answered.
    const hasGuests = turns.some((turn) => turn.hostTurnId === id) || hostTurnId !== null;
    const isMade = what.makes !== null && !hasGuests;
    expected.push({ prompt, undoneAt, knows: isKnown, ...(isMade && { made: isKnown }) });
    found.push({
      prompt,
      undoneAt,
      knows: answer.includes(what.fact),
      ...(isMade && { made: files.includes(what.makes ?? "") }),
    });
  }
  expect(found, "log, files and the agent's memory agree").toEqual(expected);
}
