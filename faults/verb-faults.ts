import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { ViewerState } from "../server/protocol/viewer-state.ts";
import { createSandboxPrograms } from "../server/turns/test-programs.ts";
import { ends, textOf } from "../server/turns/test-turns.ts";
import { endDoomedServer, startDoomedServer } from "./doomed-servers.ts";
import type { FaultTest, SessionRun } from "./fault-test.ts";
import { attempt } from "./schedule.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { startLoops, stopLoops } from "./trouble-steps.ts";
import { ask, type TurnFault } from "./turn-faults.ts";

type Verb = "undo" | "redo" | "compact";

/** Verbs whose answer may never be heard. Afterwards log, files and the agent's memory must agree. */
export const verbFaults = {
  "undo stopped": (test, random) => stopVerb(test, random, "undo"),
  "redo stopped": (test, random) => stopVerb(test, random, "redo"),
  "summary stopped": (test, random) => stopVerb(test, random, "compact"),
  "undo while the agent stands still": (test, random) => freezeVerb(test, random, "undo"),
  "redo while the agent stands still": (test, random) => freezeVerb(test, random, "redo"),
  "summary while the agent stands still": (test, random) => freezeVerb(test, random, "compact"),
  "server killed in an undo, redo or summary": killServer,
  "server superseded in an undo, redo or summary": handOver,
  "undo, redo or summary while a stop is unconfirmed": askInDoubt,
} satisfies Record<string, TurnFault>;

async function stopVerb(test: FaultTest, random: SeededRandom, verb: Verb): Promise<string> {
  const run = await prepare(test, verb);
  const wait = random.chance(0.7) ? random.integer(0, 80) : random.integer(80, 1_500);
  await begin(test, run, verb);
  await sleep(wait);
  await test.server.services.turns.stop(test.server.viewer, run.sessionId);
  await expectAgreement(test, run);
  return `after ${wait} ms`;
}

/** opencode or the sidecar, for as long as people bear, or longer. */
async function freezeVerb(test: FaultTest, random: SeededRandom, verb: Verb): Promise<string> {
  const run = await prepare(test, verb);
  const program = random.pick(["agent", "sidecar"] as const);
  const wait = random.integer(0, 120);
  const lasts = random.pick([300, 3_000, 12_000]);
  const isStopped = random.chance(0.6);
  const programs = createSandboxPrograms(test.server.home);
  await begin(test, run, verb);
  await sleep(wait);
  programs.signal(program, "SIGSTOP");
  try {
    if (isStopped) await test.server.services.turns.stop(test.server.viewer, run.sessionId);
    await sleep(lasts);
  } finally {
    programs.signal(program, "SIGCONT");
  }
  await expectAgreement(test, run);
  return `${program} for ${lasts} ms after ${wait} ms${isStopped ? ", stopped" : ""}`;
}

const anyVerb = ["undo", "undo", "redo", "compact"] as const;

async function killServer(test: FaultTest, random: SeededRandom): Promise<string> {
  const verb = random.pick(anyVerb);
  const run = await prepare(test, verb);
  const wait = random.integer(0, 600);
  const { server } = test;
  const { setup, viewer } = server;
  await server.leave();
  try {
    const asks = [{ kind: verb, prompt: "" }];
    const doomed = await startDoomedServer({ setup, viewer, sessionId: run.sessionId, asks });
    run.turnIds.push(doomed.turnIds[0] ?? "");
    await sleep(wait);
    await endDoomedServer(doomed.child);
  } finally {
    await server.start();
  }
  await expectAgreement(test, run);
  return `${verb}, after ${wait} ms`;
}

/** The one that loses the sandbox runs on, and believes for a while that it has it. */
async function handOver(test: FaultTest, random: SeededRandom): Promise<string> {
  const verb = random.pick(anyVerb);
  const run = await prepare(test, verb);
  const wait = random.integer(0, 150);
  const { server } = test;
  const replica = await server.startReplica();
  try {
    await begin(test, run, verb);
    await sleep(wait);
    await server.handOver();
    await test.finish(run, 120_000);
  } finally {
    await replica.close();
    await server.restart();
  }
  // A lease that the other one could not let go of has to lapse, which only they notice.
  startLoops(test);
  try {
    await expectAgreement(test, run);
  } finally {
    await stopLoops(test);
  }
  return `${verb}, after ${wait} ms`;
}

/** The turn before it has ended, and what the agent still does of it nobody knows. */
async function askInDoubt(test: FaultTest, random: SeededRandom): Promise<string> {
  const verb = random.pick(anyVerb);
  const run = await prepare(test, verb);
  const program = random.pick(["agent", "sidecar"] as const);
  const programs = createSandboxPrograms(test.server.home);
  if (verb === "redo") await begin(test, run, "redo");
  else run.turnIds.push(await test.server.prompt(run.sessionId, "Write a long text of 400 words for Cy"));
  await sleep(random.integer(0, verb === "redo" ? 60 : 600));
  programs.signal(program, "SIGSTOP");
  const lasts = random.integer(0, 1) * random.integer(0, 12_000);
  try {
    await test.server.services.turns.stop(test.server.viewer, run.sessionId);
    await test.finish(run, 30_000);
    // Refused where that redo was done after all.
    await attempt(() => begin(test, run, verb));
    await sleep(lasts);
  } finally {
    programs.signal(program, "SIGCONT");
  }
  await expectAgreement(test, run);
  return `${verb}, ${program} for ${lasts} ms more`;
}

/** Of two turns the second made a file, which the agent knows to be for Bo. */
async function prepare(test: FaultTest, verb: Verb): Promise<SessionRun> {
  const { run } = await ask(test, "my name is Ada");
  await add(test, run, "run `echo 1 > outputs/made.txt # for Bo`");
  if (verb !== "redo") return run;
  await begin(test, run, "undo");
  await test.finish(run);
  return run;
}

async function add(test: FaultTest, run: SessionRun, prompt: string): Promise<ViewerState> {
  run.turnIds.push(await test.server.prompt(run.sessionId, prompt));
  return test.finish(run, 120_000);
}

async function begin({ server }: FaultTest, run: SessionRun, verb: Verb): Promise<void> {
  const input = { sessionId: run.sessionId, idempotencyKey: crypto.randomUUID() };
  run.turnIds.push((await server.services.turns[verb](server.viewer, input)).id);
}

async function expectAgreement(test: FaultTest, run: SessionRun): Promise<void> {
  const { server } = test;
  await test.finish(run, 120_000);
  // Whatever was still to be found out is found out before it.
  const { entries } = await add(test, run, "what do you remember");
  expect(ends({ entries }).at(-1)?.body).toEqual({ outcome: "finished" });
  const answer = textOf({ entries: entries.filter(({ turnId }) => turnId === run.turnIds.at(-1)) });
  expect(answer, "it is the answer to this prompt").toContain("Ada");
  const turns = (await server.services.turns.list(server.viewer, run.sessionId)).turns;
  const made = turns.find(({ id }) => id === run.turnIds[1]);
  const isUndone = made?.undoneAt !== null;
  const input = { sessionId: run.sessionId, path: "outputs", signal: AbortSignal.timeout(20_000) };
  const files = (await server.services.files.list(server.viewer, input)).entries.map(({ path }) => path);
  expect({ knows: answer.includes("Bo"), files }).toEqual(
    isUndone ? { knows: false, files: [] } : { knows: true, files: ["outputs/made.txt"] },
  );
  for (const { id, prompt, undoneAt } of turns) {
    const said = entries.findLast(({ body }) => "turnIds" in body && body.turnIds.includes(id));
    expect(said?.kind === "turn-undo", "the log says so too").toBe(undoneAt !== null);
    if (undoneAt !== null && prompt.endsWith("for Cy")) expect(answer).not.toContain("Cy");
  }
}
