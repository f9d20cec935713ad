import { expect } from "vitest";
import { turnOutcomes } from "../server/protocol/turn-states.ts";
import { applySessionEvents, emptyViewerState, type ViewerState } from "../server/protocol/viewer-state.ts";
import { createSidecarClient } from "../server/sandboxes/create-sidecar-client.ts";
import type { SidecarClient } from "../server/sandboxes/sidecar-client.ts";
import { createTestServer, type TestServer } from "../server/turns/test-turns.ts";
import { createFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { contentOf, type TurnContent, wasRetried, withoutTokensRead } from "./log-content.ts";
import type { Scenario } from "./scenarios.ts";

/** A run without any fault: what the others are compared with. */
export interface Reference {
  content: TurnContent[];
  events: number;
  milliseconds: number;
}

export interface SessionRun {
  sessionId: string;
  turnIds: string[];
}

/** The whole server with the fault proxy before its sandboxes; it lives for all seeds of a process. */
export interface FaultTest {
  server: TestServer;
  proxy: FaultProxy;
  /** Of the sandbox that runs at the moment. */
  readonly sidecar: SidecarClient;
  reference(scenario: Scenario): Promise<Reference>;
  /** Sends all prompts at once: those after the first wait in the queue. */
  begin(scenario: Scenario): Promise<SessionRun>;
  /** Follows until `until`, answering what the agent asks. */
  follow(run: SessionRun, until: (state: ViewerState) => boolean, milliseconds?: number): Promise<ViewerState>;
  /** Follows to the end of all turns. Throws unless each ended once and nothing is left open. */
  finish(run: SessionRun, milliseconds?: number): Promise<ViewerState>;
  /** Finishes, and compares with the run without faults. */
  finishAlike(run: SessionRun, scenario: Scenario): Promise<ViewerState>;
  close(): Promise<void>;
}

const patience = 60_000;

export async function createFaultTest(): Promise<FaultTest> {
  const proxy = createFaultProxy();
  let sidecar: SidecarClient | null = null;
  const server = await createTestServer(
    { DORMOUSE_DEMO_PACE: "human" },
    {
      createSidecarClient(options) {
        sidecar = createSidecarClient({ ...options, door: proxy.wrap(options.door) });
        return sidecar;
      },
    },
  );
  const references = new Map<string, Reference>();

  const test: FaultTest = {
    server,
    proxy,
    get sidecar() {
      if (!sidecar) throw new Error("No sandbox was woken yet.");
      return sidecar;
    },
    async reference(scenario) {
      const known = references.get(scenario.name);
      if (known) return known;
      const events = proxy.events;
      const since = performance.now();
      const run = await test.begin(scenario);
      const { entries } = await test.finish(run);
      const reference = {
        content: run.turnIds.map((turnId) => contentOf(entries, turnId)),
        events: proxy.events - events,
        milliseconds: performance.now() - since,
      };
      references.set(scenario.name, reference);
      return reference;
    },
    async begin({ prompts }) {
      const sessionId = await server.newSession();
      const turnIds: string[] = [];
      for (const prompt of prompts) turnIds.push(await server.prompt(sessionId, prompt));
      return { sessionId, turnIds };
    },
    async follow({ sessionId }, until, milliseconds = patience) {
      const leaving = new AbortController();
      const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(milliseconds)]);
      const answered = new Set<string>();
      let state = emptyViewerState;
      const { log, turns } = server.services;
      for await (const event of log.follow({ actor: server.viewer, sessionId, after: 0, signal })) {
        state = applySessionEvents(state, [event]);
        for (const { kind, body } of state.entries) {
          if (kind !== "ask" || body.state !== "pending" || answered.has(body.askId)) continue;
          answered.add(body.askId);
          const { questions } = body.request as { questions: { options: { label: string }[] }[] };
          const answers = questions.map(({ options }) => [options[0]?.label ?? ""]);
          await turns.answer(server.viewer, { askId: body.askId, answer: { answers } });
        }
        if (until(state)) leaving.abort();
      }
      if (!until(state)) throw new Error(`Stuck: ${JSON.stringify(state.entries.slice(-5), null, 1)}`);
      return state;
    },
    async finish(run, milliseconds) {
      const endsOf = ({ entries }: ViewerState) =>
        entries.filter(({ kind }) => kind === "turn-end").map(({ turnId }) => turnId);
      const state = await test.follow(run, (now) => endsOf(now).length >= run.turnIds.length, milliseconds);
      expect(endsOf(state), "each turn ends once, in order").toEqual(run.turnIds);
      expect(state.entries.filter(({ open }) => open)).toEqual([]);
      const { turns } = await server.services.turns.list(server.viewer, run.sessionId);
      expect(turns.filter((turn) => !turnOutcomes.some((outcome) => outcome === turn.state))).toEqual([]);
      return state;
    },
    async finishAlike(run, scenario) {
      const { content } = await test.reference(scenario);
      const state = await test.finish(run);
      for (const [index, turnId] of run.turnIds.entries()) {
        const upToThis = run.turnIds.slice(0, index + 1);
        const said = wasRetried(state.entries, upToThis) ? withoutTokensRead : (all?: TurnContent) => all;
        expect(said(contentOf(state.entries, turnId))).toEqual(said(content[index]));
      }
      expectTidyRetries(state);
      return state;
    },
    close: () => server.close(),
  };
  return test;
}

/** One entry for each try that left something, and at most one in a turn for all that left nothing. */
export function expectTidyRetries({ entries }: ViewerState): void {
  const empty = entries.filter(({ kind, body }) => kind === "parts-discard" && body.numbers.length === 0);
  expect(empty.length).toBe(new Set(empty.map(({ turnId }) => turnId)).size);
}
