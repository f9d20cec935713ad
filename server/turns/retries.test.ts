import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";

// Everything is real and shares one sandbox: each test has a session of its own.
let server: TestServer;
beforeAll(async () => {
  server = await createTestServer();
}, 120_000);
afterAll(async () => {
  await server.close();
}, 60_000);

const patience = { timeout: 90_000 };

async function ask(prompt: string) {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, prompt);
  const { entries } = await server.follow(sessionId, ended());
  expect(ends({ entries })[0]?.body).toEqual({ outcome: "finished" });
  return {
    entries,
    said: entries.flatMap(({ kind, body }) =>
      kind === "agent_thought" || kind === "agent_message" || kind === "tool_call"
        ? [`${kind}${body.discarded ? " (discarded)" : ""}`]
        : [],
    ),
  };
}

test("what a failed try had finished is discarded with the rest of it, and comes once", patience, async () => {
  const { entries, said } = await ask("break off once after thinking");
  expect(said).toEqual([
    "agent_thought (discarded)",
    "agent_message (discarded)",
    "agent_thought",
    "agent_message",
    "tool_call",
    "agent_message",
  ]);
  const discarded = entries.flatMap(({ number, body }) => ("discarded" in body && body.discarded ? [number] : []));
  const notes = entries.flatMap(({ kind, body }) => (kind === "parts-discard" ? [body] : []));
  expect(notes).toEqual([{ numbers: discarded, attempt: 1, reason: expect.stringMatching(/\w/) }]);
  expect(textOf({ entries })).toBe("I count what is there. It is done, and there are 1 of it.");
});

test("a tool that ran in a failed try has run: it stays, and the next try calls it again", patience, async () => {
  const { entries, said } = await ask("break off once after a call");
  expect(said).toEqual([
    "agent_thought (discarded)",
    "agent_message (discarded)",
    "tool_call",
    "agent_thought",
    "agent_message",
    "tool_call",
    "agent_message",
  ]);
  const outputs = entries.flatMap(({ kind, body }) => (kind === "tool_call" ? [body.rawOutput?.output] : []));
  expect(outputs).toEqual(["1\n", "2\n"]);
  expect(textOf({ entries })).toBe("I count what is there. It is done, and there are 2 of it.");
});
