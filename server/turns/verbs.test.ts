import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type AgentClient, createAgentClient } from "../agent/index.ts";
import { createSandboxPrograms, type SandboxPrograms } from "./test-programs.ts";
import { createTestServer, ended, ends, type TestServer, textOf } from "./test-turns.ts";
import { createTestWords } from "./test-words.ts";

// Undo, redo and summaries that are stopped, or whose answer is lost: everything is real and shares one sandbox.
const words = createTestWords();
let server: TestServer;
let programs: SandboxPrograms;
/** Around the calls that change the agent's session. */
let during: Partial<Record<"revert" | "unrevert" | "summarize", (call: () => Promise<void>) => Promise<void>>> = {};
let requestMilliseconds = 30_000;

beforeAll(async () => {
  server = await createTestServer(
    {},
    {
      demoPace: words,
      createAgentClient({ sidecar }) {
        const client = createAgentClient({ sidecar });
        const around =
          (name: "revert" | "summarize"): AgentClient["revert"] & AgentClient["summarize"] =>
          (input: never) => {
            const call = () => (client[name] as (given: never) => Promise<void>)(input);
            return during[name]?.(call) ?? call();
          };
        return {
          ...client,
          revert: around("revert"),
          summarize: around("summarize"),
          unrevert(agentSessionId, signal) {
            const call = () => client.unrevert(agentSessionId, signal);
            return during.unrevert?.(call) ?? call();
          },
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
  requestMilliseconds = 30_000;
  words.allowAll();
});

const patience = { timeout: 120_000 };
const turns = () => server.services.turns;
const input = (sessionId: string) => ({ sessionId, idempotencyKey: crypto.randomUUID() });
const outputsOf = async (sessionId: string) => {
  const signal = AbortSignal.timeout(20_000);
  const { entries } = await server.services.files.list(server.viewer, { sessionId, path: "outputs", signal });
  return entries.map(({ path }) => path);
};

/** Of two turns the second made a file, which the agent knows to be for Bo. */
async function makeFile(): Promise<{ sessionId: string; made: string }> {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
  const made = await server.prompt(sessionId, "run `echo 1 > outputs/made.txt # for Bo`");
  await server.follow(sessionId, ended(2));
  return { sessionId, made };
}

/** With a prompt of its own, which gives whatever is still to be looked at its chance. */
async function expectAgreement(sessionId: string, made: string, turnsSoFar: number): Promise<boolean> {
  await server.prompt(sessionId, "what do you remember");
  const { entries } = await server.follow(sessionId, ended(turnsSoFar + 1));
  const last = entries.filter(({ turnId }) => turnId === entries.at(-1)?.turnId);
  const isUndone = (await turns().find(server.viewer, { sessionId, turnId: made }))?.undoneAt !== null;
  expect({ known: textOf({ entries: last }).includes("Bo"), files: await outputsOf(sessionId) }).toEqual(
    isUndone ? { known: false, files: [] } : { known: true, files: ["outputs/made.txt"] },
  );
  const said = entries.flatMap((entry) => (/^turn-(un|re)do$/.test(entry.kind) ? [entry.kind] : [])).at(-1);
  expect(said === "turn-undo").toBe(isUndone);
  return isUndone;
}

test("an undo or redo that is stopped while the agent does it is finished, and said to be", patience, async () => {
  const { sessionId, made } = await makeFile();
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
  expect(await outputsOf(sessionId)).toEqual([]);
  await turns().redo(server.viewer, input(sessionId));
  const redone = await server.follow(sessionId, ended(4));
  expect(ends(redone)[3]?.body).toMatchObject({ outcome: "finished" });
  expect(await expectAgreement(sessionId, made, 4)).toBe(false);
});

test("a summary that is stopped is none, and the next prompt gets its own answer", patience, async () => {
  const sessionId = await server.newSession();
  await server.prompt(sessionId, "my name is Ada");
  await server.follow(sessionId, ended());
  words.allow(2);
  const { id } = await turns().compact(server.viewer, input(sessionId));
  await server.follow(sessionId, ({ entries }) =>
    entries.some((entry) => entry.turnId === id && "text" in entry.body && entry.body.text !== ""),
  );
  await turns().stop(server.viewer, sessionId);
  const stopped = await server.follow(sessionId, ended(2));
  expect(ends(stopped)[1]?.body).toEqual({ outcome: "stopped" });
  expect(notes(stopped.entries)).toEqual([]);
  words.allowAll();
  await server.prompt(sessionId, "what is my name?");
  const after = await server.follow(sessionId, ended(3));
  expect(ends(after)[2]?.body).toEqual({ outcome: "finished" });
  expect(textOf(after)).toContain("Your name is Ada");
  expect(notes(after.entries)).toEqual([]);
});

const notes = (entries: readonly { kind: string; body: object }[]) =>
  entries.filter(({ kind, body }) => kind === "memory-note" && !("discarded" in body && body.discarded));
