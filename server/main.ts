import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { isBootError } from "./boot/boot-error.ts";
import { createLifetime } from "./boot/lifetime.ts";
import { spareModuleLookups } from "./boot/spare-module-lookups.ts";
import { ConfigError, parseConfig } from "./config.ts";
import { createLogger } from "./lib/logger.ts";

/**
 * The whole server: one process from here on. It ends on SIGINT, SIGTERM, SIGHUP or when its launcher is
 * gone; gracefully and within 20 s, or at once on a second Ctrl-C. In either case Postgres is stopped last.
 */
const root = resolve(import.meta.dirname, "..");
if (existsSync(join(root, ".env"))) process.loadEnvFile(join(root, ".env"));

const config = readConfig();
Object.assign(process.env, { NODE_ENV: config.mode, NEXT_TELEMETRY_DISABLED: "1" });
const logger = createLogger(config.logLevel);
const lifetime = createLifetime(logger);
const gracefulMilliseconds = 13_000;
const atOnceMilliseconds = 7000;
let interrupts = 0;

for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => lifetime.beginEnd());
process.on("disconnect", () => lifetime.beginEnd());
process.on("SIGINT", () => {
  interrupts += 1;
  lifetime.beginEnd();
  if (interrupts > 1) void endAtOnce();
});
// `npm run dev` after a change: the next process takes over Postgres and sandboxes.
process.on("message", (message) => {
  if (message === "reload") lifetime.beginReload();
});
process.on("unhandledRejection", (error) =>
  logger.error({ err: error }, "A promise was rejected and nothing handled it"),
);
process.on("uncaughtException", (error) => {
  logger.fatal({ err: error }, "An error was thrown that nothing handled: stopping");
  process.exitCode = 1;
  lifetime.beginEnd();
});

try {
  // Only now: what is wrong with the configuration is said without waiting for all the rest.
  spareModuleLookups();
  const { start } = await import("./boot/start.ts");
  const { url, port, databaseLost, listensBeyondLoopback, setupCode } = await start({
    config,
    root,
    logger,
    lifetime,
    setEnvironment: (values) => Object.assign(process.env, values),
  });
  // In the fragment, which browsers keep to themselves: a query would be sent, and end in logs.
  const address = setupCode ? `${url}/first-run#code=${setupCode}` : url;
  console.log(
    `\nDormouse is ready at ${address}${listensBeyondLoopback ? " (and reachable from other machines)" : ""}\n`,
  );
  if (setupCode) console.log("Open this address to make the first account. Show it to nobody before that.\n");
  process.send?.({ port });
  void databaseLost.then(() => {
    console.error(
      `The embedded Postgres ended by itself and could not be kept running: stopping. The end of ${join(config.home, "postgres.log")} says why. What was under way goes on with the next start.`,
    );
    process.exitCode = 1;
    lifetime.beginEnd();
  });
  await aborted(lifetime.stopping);
  if (!lifetime.reloading) console.log("Stopping …");
} catch (error) {
  process.exitCode = 1;
  if (!lifetime.stopping.aborted) reportFailure(error);
}
setTimeout(() => void endAtOnce(), gracefulMilliseconds).unref();
await lifetime.close();
process.exit();

function readConfig() {
  try {
    return parseConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}

function reportFailure(error: unknown): void {
  if (isBootError(error)) console.error(`\n${error.message}`);
  else logger.fatal({ err: error }, "Dormouse could not start because of an unexpected error");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}

async function endAtOnce(): Promise<void> {
  console.log("Stopping at once …");
  setTimeout(() => process.exit(130), atOnceMilliseconds).unref();
  await lifetime.closeEssential();
  process.exit(130);
}
