import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type SQL, sql } from "drizzle-orm";
import postgres from "postgres";
import type { Database } from "../../db/client.ts";
import { adminInput, createTestAccounts } from "../accounts/test-accounts.ts";
import type { Viewer } from "../auth/index.ts";
import { buildSidecar } from "../boot/build-sidecar.ts";
import type { LogEntry } from "../protocol/log-entry.ts";
import { applySessionEvents, emptyViewerState, type ViewerState } from "../protocol/viewer-state.ts";
import type { Services } from "../services.ts";
import type { Wiring, WiringInput } from "../wiring.ts";
import { projectRoot, type TestSetup, wireTestServer } from "./test-wiring.ts";

export interface TestServer {
  viewer: Viewer;
  database: Database;
  ownerUrl: string;
  services: Services;
  wiring: Wiring;
  home: string;
  setup: TestSetup;
  /** The first half of a restart, and the second. With `sleep`, sandboxes end as with Ctrl-C. */
  leave(options?: { sleep: boolean }): Promise<void>;
  start(): Promise<void>;
  /** Another server on the same database, with a home of its own: it cannot reach the sandboxes of this one. */
  startPeer(): Promise<Peer>;
  /** Another server on the same database that reaches the same sandboxes, with its background loops. */
  startReplica(): Promise<Peer>;
  /** The leases of all sandboxes are over, as if nobody had renewed them. */
  lapseLeases(): Promise<void>;
  /** Nothing was heard of the servers of this machine for a while; those that run say at once that they are there. */
  goAway(): Promise<void>;
  /** Another server that looks for lapsed leases gets that of the sandbox. */
  handOver(): Promise<void>;
  /** As a kill of the server and a new start: nothing is told to anybody. */
  restart(): Promise<void>;
  /** A proper end, which puts sandboxes to sleep, and a new start after `whileAway`. */
  sleepAndWake(whileAway: () => Promise<void>): Promise<void>;
  newSession(): Promise<string>;
  prompt(sessionId: string, prompt: string): Promise<string>;
  /** Follows from the beginning, or from `from`, until `until`. */
  follow(
    sessionId: string,
    until: (state: ViewerState) => boolean,
    from?: ViewerState,
    services?: Services,
  ): Promise<ViewerState>;
  close(): Promise<void>;
}

export interface Peer {
  services: Services;
  home: string;
  close(): Promise<void>;
}

/** Everything but HTTP and Next, for real: Postgres, sandbox, sidecar, opencode, gateway, demo model. */
export async function createTestServer(
  environment: Record<string, string> = {},
  changes: Partial<WiringInput> = {},
): Promise<TestServer> {
  const accounts = await createTestAccounts();
  await accounts.accounts.completeFirstRun(adminInput);
  const viewer = await accounts.signIn(adminInput.email);
  const home = await mkdtemp("/tmp/dm-");
  await chmod(home, 0o711);
  await buildSidecar(projectRoot);
  const { applicationUrl } = accounts;
  // One database, one file store, also for a server with a home of its own.
  const shared = { DORMOUSE_FILE_STORE_ROOT: join(home, "store"), DORMOUSE_DEMO_PACE: "instant" };
  const setup = { applicationUrl, home, environment: { ...shared, ...environment } };
  const start = (at = home) => wireTestServer({ ...setup, home: at }, changes);
  let wiring = await start();
  await wiring.resume(AbortSignal.timeout(30_000));

  const test: TestServer = {
    viewer,
    database: accounts.database,
    ownerUrl: accounts.ownerUrl,
    get services() {
      return wiring.services;
    },
    get wiring() {
      return wiring;
    },
    home,
    setup,
    async startPeer() {
      const other = await mkdtemp("/tmp/dm-");
      await chmod(other, 0o711);
      const peer = await start(other);
      await peer.resume(AbortSignal.timeout(30_000));
      return {
        services: peer.services,
        home: other,
        async close() {
          await peer.closeTurns();
          await peer.closeSandboxes();
          await peer.close();
          await rm(other, { recursive: true, force: true });
        },
      };
    },
    async startReplica() {
      const replica = await wireTestServer({ ...setup, name: `replica-${crypto.randomUUID()}` }, changes);
      await replica.resume(AbortSignal.timeout(30_000));
      for (const loop of replica.loops) loop.start();
      return {
        services: replica.services,
        home,
        async close() {
          await Promise.all(replica.loops.map((loop) => loop.stop()));
          await replica.closeTurns();
          await replica.closeSandboxes();
          await replica.close();
        },
      };
    },
    async lapseLeases() {
      await accounts.database.transaction(viewer, (tx) =>
        tx.execute(sql`update sandboxes set lease_expires_at = now() - interval '1 second'`),
      );
    },
    async goAway() {
      const owner = postgres(accounts.ownerUrl, { max: 1 });
      await owner`update homes set seen_at = now() - interval '1 minute'`;
      await owner.end();
    },
    async handOver() {
      const execute = (query: SQL) => accounts.database.transaction(viewer, (tx) => tx.execute(query));
      const owner = async () => (await execute(sql`select lease_owner from sandboxes`))[0]?.lease_owner;
      const before = await owner();
      const deadline = Date.now() + 30_000;
      // The holder renews it now and then, so it lapses again and again until the other one has looked.
      while ((await owner()) === before) {
        if (Date.now() > deadline) throw new Error("Nobody took over the sandbox.");
        await execute(sql`
          update sandboxes set lease_expires_at = now() - interval '1 second' where lease_owner = ${before}`);
        await sleep(20);
      }
    },
    async leave({ sleep } = { sleep: false }) {
      await wiring.closeTurns();
      await (sleep ? wiring.closeSandboxes() : wiring.abandonSandboxes());
      await wiring.close();
    },
    async start() {
      wiring = await start();
      await wiring.resume(AbortSignal.timeout(30_000));
    },
    async sleepAndWake(whileAway) {
      await test.leave({ sleep: true });
      await whileAway();
      await test.start();
    },
    async restart() {
      await test.leave();
      await test.start();
    },
    newSession: async () => (await wiring.services.sessions.create(viewer)).id,
    async prompt(sessionId, prompt) {
      const turn = await wiring.services.turns.start(viewer, {
        sessionId,
        prompt,
        idempotencyKey: crypto.randomUUID(),
      });
      return turn.id;
    },
    async follow(sessionId, until, from = emptyViewerState, services = wiring.services) {
      const leaving = new AbortController();
      const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(60_000)]);
      let state = from;
      const stream = services.log.follow({ actor: viewer, sessionId, after: state.version, signal });
      for await (const event of stream) {
        state = applySessionEvents(state, [event]);
        if (until(state)) leaving.abort();
      }
      if (!until(state)) throw new Error(`What was awaited did not come: ${JSON.stringify(state.entries.slice(-6))}`);
      return state;
    },
    async close() {
      await wiring.closeTurns();
      await wiring.closeSandboxes();
      await wiring.close();
      await accounts[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
  return test;
}

export const ends = ({ entries }: Pick<ViewerState, "entries">) => entries.filter(({ kind }) => kind === "turn-end");

export const ended =
  (turns = 1) =>
  (state: ViewerState) =>
    ends(state).length >= turns;

export function textOf({ entries }: { entries: readonly LogEntry[] }): string {
  return entries
    .flatMap((entry) => (entry.kind === "agent_message" && !entry.body.discarded ? [entry.body.text] : []))
    .join("");
}
