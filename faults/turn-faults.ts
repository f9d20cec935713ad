import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { buildAgentConfig } from "../server/agent/index.ts";
import type { ViewerState } from "../server/protocol/viewer-state.ts";
import { ends, textOf } from "../server/turns/test-turns.ts";
import { expectTidyRetries, type FaultTest, type SessionRun } from "./fault-test.ts";
import { contentOf } from "./log-content.ts";
import { anyScenario, type Scenario, scenarios } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";

export type TurnFault = (test: FaultTest, random: SeededRandom) => Promise<string>;

/** A model that fails, an agent that dies, people who are in a hurry. */
export const turnFaults = {
  "model refuses": async (test, random) => {
    const status = random.pick(["401", "404"]);
    const { run, state } = await ask(test, `fail with ${status}`);
    expect(endOf(state)).toMatchObject({ outcome: "failed", code: status, message: expect.stringMatching(/\w/) });
    await expectNextIsClean(test, run);
    return status;
  },
  "model fails once": async (test, random) => {
    const [prompt, text] = random.pick([
      ["fail once with 429", "The second try worked."],
      ["fail once with 500", "The second try worked."],
      ["drop the connection once", "The second try worked."],
      ["break off once after thinking", "I count what is there. It is done, and there are 1 of it."],
      ["break off once after a call", "I count what is there. It is done, and there are 2 of it."],
    ]);
    const { state } = await ask(test, prompt);
    expect(endOf(state)).toEqual({ outcome: "finished" });
    expect(textOf(state)).toBe(text);
    expectTidyRetries(state);
    return prompt;
  },
  "model fails until the agent gives up": async (test, random) => {
    const prompt = random.pick(["fail with 429", "fail with 500", "drop the connection"]);
    const { run, state } = await ask(test, prompt, 150_000);
    expect(endOf(state)).toMatchObject({ outcome: "failed", code: expect.stringMatching(/\w/) });
    // Of the last try the agent keeps what came.
    expect(textOf(state)).toBe(prompt.startsWith("drop") ? "These words are lost with the connection " : "");
    expectTidyRetries(state);
    await expectNextIsClean(test, run);
    return prompt;
  },
  "context overflows": async (test) => {
    const { run, state } = await ask(test, "context overflow");
    expect(endOf(state)).toEqual({ outcome: "finished" });
    // What the model says then depends on what opencode keeps of the prompt; that it goes on does not.
    const notes = state.entries.filter(({ kind }) => kind === "memory-note").map(({ body }) => body);
    expect(notes).toMatchObject([{ status: "compacted" }]);
    expect(textOf(state)).not.toBe("");
    await expectNextIsClean(test, run);
    return "";
  },
  "model is unknown": async (test) => {
    await test.reference(scenarios.thought);
    const config = buildAgentConfig({ providers: [], defaultModel: null, permissionPolicy: "allow" });
    await configure(test, { ...config, model: "demo/none", small_model: "demo/none" });
    try {
      // A session of its own: opencode goes on with the model that a session had before.
      const { state } = await ask(test, "Hello");
      expect(endOf(state)).toMatchObject({ outcome: "failed", message: expect.stringMatching(/none/) });
    } finally {
      await configure(test, config);
    }
    await test.finishAlike(await test.begin(scenarios.thought), scenarios.thought);
    return "";
  },
  "stopped at once": async (test, random) => {
    const scenario = random.pick(anyScenario);
    const run = await test.begin({ ...scenario, prompts: [scenario.prompts[0]] });
    await sleep(random.integer(0, 1) * random.integer(1, 1200) + 100);
    await test.server.services.turns.stop(test.server.viewer, run.sessionId);
    const state = await test.finish(run);
    expect(["stopped", "finished"]).toContain(endOf(state).outcome);
    await expectNextIsClean(test, run);
    return scenario.name;
  },
  "stopped while another waits": async (test) => {
    const run = await test.begin({ name: "", prompts: ["Write a long text of 400 words", "think about dormice"] });
    await sleep(100);
    await test.server.services.turns.stop(test.server.viewer, run.sessionId);
    const state = await test.finish(run);
    expect(ends(state).map(({ body }) => body)).toEqual([{ outcome: "stopped" }, { outcome: "finished" }]);
    await expectAlike(test, state, { turnId: run.turnIds[1] ?? "", scenario: scenarios.thought });
    return "";
  },
  "three prompts at once": async (test) => {
    await test.finishAlike(await test.begin(scenarios.three), scenarios.three);
    return "";
  },
  "agent is killed": async (test, random) => {
    const wait = random.integer(0, 10) / 10;
    const { run, state } = await ask(test, `run \`sleep ${wait}; kill -9 $PPID\``);
    expect(endOf(state)).toMatchObject({ outcome: "failed", code: "agent-exited" });
    await expectNextIsClean(test, run);
    return `after ${wait} s`;
  },
} satisfies Record<string, TurnFault>;

export async function ask(test: FaultTest, prompt: string, milliseconds?: number) {
  const run = await test.begin({ name: "", prompts: [prompt] });
  return { run, state: await test.finish(run, milliseconds) };
}

export const endOf = (state: ViewerState) => {
  const end = ends(state)[0];
  if (end?.kind !== "turn-end") throw new Error("The turn did not end.");
  return end.body;
};

/** Nothing of what went wrong is left in the session. */
export async function expectNextIsClean(test: FaultTest, run: SessionRun): Promise<void> {
  const scenario = scenarios.thought;
  const turnId = await test.server.prompt(run.sessionId, scenario.prompts[0]);
  const state = await test.finish({ ...run, turnIds: [...run.turnIds, turnId] });
  await expectAlike(test, state, { turnId, scenario });
}

async function expectAlike(
  test: FaultTest,
  { entries }: ViewerState,
  { turnId, scenario }: { turnId: string; scenario: Scenario },
): Promise<void> {
  const { content } = await test.reference(scenario);
  // The conversation before it is part of what the model read, so the count of tokens is another.
  const said = (all: (typeof content)[number] | undefined) => all?.filter(({ kind }) => kind !== "usage");
  expect(said(contentOf(entries, turnId))).toEqual(said(content[0]));
}

async function configure({ sidecar }: FaultTest, config: Record<string, unknown>): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  await sidecar.restartAgent({ config }, signal);
  await sidecar.waitForAgent(signal);
}
