import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAgentIds } from "../agent-ids.ts";
import { createAgentClient } from "../create-agent-client.ts";
import type { AgentClient } from "../index.ts";
import { startTestAgent, type TestAgent } from "../test-agent.ts";
import { planReplay, type Replay, type ReplayPlace, replayEvents } from "./plan-replay.ts";
import { selectConversation } from "./select-conversation.ts";
import { createTestEntries } from "./test-entries.ts";

const signal = AbortSignal.timeout(600_000);
const ids = createAgentIds();
let agent: TestAgent;
let client: AgentClient;
let place: ReplayPlace;

beforeAll(async () => {
  agent = await startTestAgent();
  client = createAgentClient({ sidecar: agent.sidecar });
  place = await client.findReplayPlace(agent.createDirectory(), signal);
}, 90_000);
afterAll(() => agent?.close());

function plan(log: ReturnType<typeof createTestEntries>, seed: string): Replay {
  const { messages } = selectConversation(log.entries, { complete: true });
  return planReplay(messages, { seed: [seed], title: "replayed", place });
}

/** What the model is sent with the next prompt, without opencode's own instructions. */
async function promptModel(agentSessionId: string, text: string) {
  agent.model.requests.length = 0;
  const messageId = ids.messageId();
  await client.prompt({ agentSessionId, messageId, text, signal });
  const answer = async () =>
    (await client.listMessages(agentSessionId, signal)).findLast(({ info }) => info.parentID === messageId)?.info.time;
  await expect.poll(answer, { timeout: 60_000 }).toMatchObject({ completed: expect.any(Number) });
  const sent = agent.model.requests.find((messages) => messages.at(-1)?.text.includes(text));
  return (sent ?? []).filter(({ role }) => role !== "system").map(({ role, text: words }) => `${role}: ${words}`);
}

function conversation() {
  const log = createTestEntries();
  log.prompt(1, "look around");
  log.think(1, 1, "hm");
  log.tool(1, 1, "acorn.txt");
  log.say(1, 2, "There is one file.");
  return log;
}

describe("a replay into the real opencode", { timeout: 120_000 }, () => {
  test("gives the model user, assistant and tool messages, and is harmless when repeated or half done", async () => {
    const replay = plan(conversation(), "whole");
    // As left by a process that was killed in the middle.
    const events = replayEvents(replay).slice(0, 4);
    const { directory } = place;
    await agent.sidecar.send({
      method: "POST",
      path: `/agent/sync/replay?directory=${encodeURIComponent(directory)}`,
      body: JSON.stringify({ directory, events }),
      contentType: "application/json",
      signal,
    });
    await client.replaySession(replay, signal);
    const stored = await client.listMessages(replay.info.id, signal);
    await client.replaySession(replay, signal);
    expect(await client.listMessages(replay.info.id, signal)).toEqual(stored);
    expect(await promptModel(replay.info.id, "say go on")).toEqual([
      "user: look around",
      expect.stringMatching(/^assistant: /),
      "tool: acorn.txt",
      "assistant: There is one file.",
      "user: say go on",
    ]);
    expect(await client.keepSession({ agentSessionId: replay.info.id, directory, signal })).toBe(true);
  });

  test("gives it a compaction's summary in the place of what was summarised", async () => {
    const log = conversation();
    log.prompt(2, "kept");
    log.say(2, 1, "kept too");
    log.prompt(3, "too much");
    log.compact(3, 1, { summary: "a file was found", tail: log.messageId(200) });
    log.say(3, 3, "finished");
    const replay = plan(log, "compacted");
    await client.replaySession(replay, signal);
    const lines = await promptModel(replay.info.id, "say more");
    expect(lines.join("\n")).not.toContain("look around");
    expect(lines.slice(1)).toEqual([
      "assistant: a file was found",
      "user: kept",
      "assistant: kept too",
      "user: too much",
      "user: too much",
      "assistant: finished",
      "user: say more",
    ]);
  });

  test("takes a long history within its time, in order", async () => {
    const log = createTestEntries();
    for (let turn = 1; turn <= 100; turn++) {
      log.prompt(turn, `prompt ${turn}`);
      log.tool(turn, 1, `${turn} `.repeat(2000));
      log.say(turn, 2, `answer ${turn}`);
    }
    const replay = plan(log, "long");
    await client.replaySession(replay, signal);
    const stored = await client.listMessages(replay.info.id, signal);
    expect(stored.map(({ info }) => info.id)).toEqual(replay.messages.map(({ info }) => info.id));
  });

  test("that the agent refuses is an error", async () => {
    const replay = plan(conversation(), "refused");
    const [first] = replay.messages;
    if (first) first.info = { ...first.info, role: "nobody" as never };
    await expect(client.replaySession(replay, signal)).rejects.toMatchObject({ kind: "upstream" });
  });

  test("of another conversation has other ids throughout; ids ascend and are older than the next prompt", () => {
    const one = plan(conversation(), "one");
    const other = plan(conversation(), "other");
    const all = (replay: Replay) =>
      replay.messages.flatMap(({ info, parts }) => [info.id, ...parts.map(({ id }) => id)]);
    expect(plan(conversation(), "one")).toEqual(one);
    expect(all(one).filter((id) => all(other).includes(id))).toEqual([]);
    const messageIds = one.messages.map(({ info }) => info.id);
    expect(messageIds.toSorted()).toEqual(messageIds);
    expect(new Set([...replayEvents(one), ...replayEvents(other)].map(({ id }) => id)).size).toBe(
      replayEvents(one).length * 2,
    );
    const parts = one.messages.flatMap((message) => message.parts.map(({ id }) => id));
    expect(parts.toSorted()).toEqual(parts);
  });
});
