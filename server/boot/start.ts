import { openDatabase } from "../../db/migrate.ts";
import { createSteps } from "../../scripts/lib/steps.mjs";
import type { Config } from "../config.ts";
import type { Logger } from "../lib/logger.ts";
import { shareServices } from "../services.ts";
import { wire } from "../wiring.ts";
import { answerDatabaseAway, needsDatabase } from "./answer-database-away.ts";
import { buildCatalogue } from "./build-catalogue.ts";
import { buildIfNeeded } from "./build-if-needed.ts";
import { buildSidecar } from "./build-sidecar.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./embedded-postgres.ts";
import { openHome } from "./home.ts";
import { hostNext } from "./host-next.ts";
import { createHttpServer } from "./http-server.ts";
import type { Lifetime } from "./lifetime.ts";
import { listen } from "./listen.ts";
import { deriveKey, loadMasterKey } from "./master-key.ts";

export interface Started {
  url: string;
  port: number;
  listensBeyondLoopback: boolean;
  /** For the address of the first-run page; null when it is done, or when whoever does it knows the code already. */
  setupCode: string | null;
  /** Resolves when the embedded Postgres is given up; never for an external one. */
  databaseLost: Promise<void>;
}

/** Brings everything up in order. Whatever was opened is in `lifetime`, also when a later step fails. */
export async function start(options: {
  config: Config;
  root: string;
  logger: Logger;
  lifetime: Lifetime;
  /** What Next and next-auth read from the environment, which only main.ts may write. */
  setEnvironment: (values: { NEXTAUTH_URL: string; NEXTAUTH_SECRET: string }) => void;
}): Promise<Started> {
  const { config, root, logger, lifetime, setEnvironment } = options;
  const signal = lifetime.stopping;
  const steps = createSteps();

  const home = await openHome({ path: config.home, signal, launcherPid: process.connected ? process.ppid : null });
  lifetime.add("home", 1000, () => home.release());
  signal.addEventListener("abort", () => void home.announceStop().catch(() => {}), { once: true });
  const { key: masterKey, keep: keepMasterKey } = await loadMasterKey({
    home: home.path,
    configured: config.masterKey,
  });

  // Listening early finds a taken port before the slow steps, and browsers hear that Dormouse is starting.
  const http = createHttpServer({ config, logger });
  lifetime.add("http server", 1000, () => http.close({ graceMilliseconds: 0 }));
  const listening = await listen({ server: http.server, host: config.host, port: config.port, onMoved: steps.say });
  const publicUrl = config.publicUrl ?? listening.url;
  await home.announce(publicUrl);

  const postgres = await allOrNothing({
    signal,
    build: async (both) => {
      await buildSidecar(root);
      const catalogue = readPrices({ root, signal: both, steps, logger });
      await buildPages({ config, root, signal: both, steps });
      await catalogue;
    },
    postgres: (both) => startPostgres({ config, home: home.path, signal: both, steps, lifetime }),
  });
  signal.throwIfAborted();

  const database = await steps.run({ doing: "Preparing the database", done: "Prepared the database" }, () =>
    openDatabase({
      ...databaseUrls(config, postgres),
      applicationPassword: deriveKey(masterKey, "database-application-role").toString("base64url"),
      masterKeyCheck: deriveKey(masterKey, "master-key-check").toString("base64url"),
    }),
  );
  lifetime.add("database claim", 1000, () => database.close());
  signal.throwIfAborted();

  const wired = await wire({
    config,
    root,
    home: home.path,
    applicationUrl: database.applicationUrl,
    masterKey,
    // In this order: a database must not belong to a key that nobody has.
    async claim() {
      await keepMasterKey();
      await database.claim();
    },
    publicUrl,
    logger,
    stopping: signal,
  });
  lifetime.add("services", 6000, () => wired.close());
  await database.close();
  lifetime.add("sandboxes", 9000, () => (lifetime.reloading ? wired.abandonSandboxes() : wired.closeSandboxes()));
  lifetime.add("turns", 3000, () => wired.closeTurns());
  shareServices(wired.services);
  setEnvironment({ NEXTAUTH_URL: publicUrl, NEXTAUTH_SECRET: wired.services.signInSecret });
  signal.throwIfAborted();

  // Before the first request: a sandbox that is still to be taken over must not be woken beside it.
  const [next] = await Promise.all([
    steps.run({ doing: "Starting the pages", done: "Started the pages" }, () =>
      hostNext({ root, development: config.mode === "development", hostname: config.host, port: listening.port }),
    ),
    wired.resume(signal),
  ]);
  lifetime.add("pages", 1000, () => next.close());
  signal.throwIfAborted();

  for (const loop of wired.loops) loop.start();
  lifetime.add("loops", 5500, async () => {
    await Promise.all(wired.loops.map((loop) => loop.stop()));
  });
  http.addUpgradeHandler(next.upgrade);
  http.serve((request, response) => {
    if (wired.serveModelCalls(request, response)) return;
    if (wired.isDatabaseAway() && needsDatabase(request)) return answerDatabaseAway(request, response);
    if (wired.serveStreams(request, response)) return;
    return next.handle(request, response);
  });
  // Last in, first out: requests end before what they use.
  lifetime.add("requests", 4000, () => http.close({ graceMilliseconds: 3000 }));
  return {
    url: publicUrl,
    port: listening.port,
    listensBeyondLoopback: listening.beyondLoopback,
    setupCode: wired.setupCode,
    databaseLost: postgres?.lost ?? new Promise(() => {}),
  };
}

type Steps = ReturnType<typeof createSteps>;

async function buildPages(options: { config: Config; root: string; signal: AbortSignal; steps: Steps }): Promise<void> {
  const { config, root, signal, steps } = options;
  if (config.mode === "development") return;
  const label = { doing: "Building the pages", done: "Built the pages" };
  await buildIfNeeded({ root, signal, step: (work) => steps.run(label, work) });
}

/** A start does without them: an admin can still tell what models cost. */
async function readPrices(options: { root: string; signal: AbortSignal; steps: Steps; logger: Logger }): Promise<void> {
  const { root, signal, steps, logger } = options;
  const label = { doing: "Reading model prices", done: "Read model prices" };
  await buildCatalogue({ root, signal, step: (work) => steps.run(label, work) }).catch((error: unknown) => {
    if (!signal.aborted) logger.warn({ err: error }, "The prices of models could not be read");
  });
}

async function startPostgres(options: {
  config: Config;
  home: string;
  signal: AbortSignal;
  steps: Steps;
  lifetime: Lifetime;
}): Promise<EmbeddedPostgres | null> {
  const { config, home, signal, steps, lifetime } = options;
  if (config.database.kind === "external") return null;
  const label = { doing: "Starting Postgres", done: "Started Postgres" };
  const starting = steps.run(label, () => startEmbeddedPostgres({ home, signal, onProgress: steps.say }));
  // Registered before it runs: an end in the middle of the start must find it too.
  const stop = async () => {
    const running = await starting.catch(() => null);
    if (!lifetime.reloading) await running?.stop({ graceMilliseconds: 3000 });
  };
  lifetime.add("postgres", 7000, stop, { essential: true });
  return await starting;
}

function databaseUrls(config: Config, postgres: EmbeddedPostgres | null) {
  if (config.database.kind === "external") return config.database;
  if (!postgres) throw new Error("The embedded Postgres was not started.");
  return { ownerUrl: postgres.ownerUrl, applicationUrl: null };
}

/** When one fails, the other is told to give up and waited for, so that nothing is left running. */
async function allOrNothing<Result>(options: {
  signal: AbortSignal;
  build: (signal: AbortSignal) => Promise<void>;
  postgres: (signal: AbortSignal) => Promise<Result>;
}): Promise<Result> {
  const failed = new AbortController();
  const both = AbortSignal.any([options.signal, failed.signal]);
  let cause: unknown;
  const guard = async <Value>(work: Promise<Value>): Promise<Value | undefined> => {
    try {
      return await work;
    } catch (error) {
      cause ??= error;
      failed.abort();
      return undefined;
    }
  };
  const [, result] = await Promise.all([guard(options.build(both)), guard(options.postgres(both))]);
  if (cause !== undefined) throw cause;
  return result as Result;
}
