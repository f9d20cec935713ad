import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { resetPassword } from "../accounts/reset-password.ts";
import { ConfigError, parseConfig } from "../config.ts";
import { isAppError } from "../errors.ts";
import { BootError, isBootError } from "./boot-error.ts";
import { findRunningPostgres, startEmbeddedPostgres } from "./embedded-postgres.ts";
import { openHome } from "./home.ts";
import { tryLock } from "./process-lock.ts";

/**
 * `npm run reset-password -- <email>`: for the person who has the machine but not the password. Works
 * while the server runs, through its Postgres, and while it does not, by starting Postgres for a moment.
 */
const root = resolve(import.meta.dirname, "../..");
if (existsSync(join(root, ".env"))) process.loadEnvFile(join(root, ".env"));
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());
process.on("disconnect", () => interrupted.abort());

try {
  const email = process.argv[2];
  if (!email) throw new BootError("Whose password should be reset? Run: npm run reset-password -- person@example.com");
  await withOwner(async (ownerUrl) => {
    const password = await resetPassword({ ownerUrl, email });
    console.log(
      `The new password of ${email} is:\n\n  ${password}\n\nAll their devices are signed out. Change it after signing in.`,
    );
  });
} catch (error) {
  const known = isBootError(error) || isAppError(error) || error instanceof ConfigError;
  console.error(known ? (error as Error).message : error);
  process.exitCode = 1;
}
// The channel to the launcher would keep this process alive.
if (process.connected) process.disconnect();

async function withOwner(use: (ownerUrl: string) => Promise<void>): Promise<void> {
  const config = parseConfig();
  if (config.database.kind === "external") return use(config.database.ownerUrl);
  if (!existsSync(config.home)) throw new BootError(`There is no Dormouse in ${config.home} yet: start it first.`);
  if (isHeld(config.home)) {
    const running = await findRunningPostgres(config.home);
    if (running) return use(running);
  }
  const { signal } = interrupted;
  const home = await openHome({ path: config.home, signal });
  try {
    const postgres = await startEmbeddedPostgres({ home: home.path, signal });
    try {
      await use(postgres.ownerUrl);
    } finally {
      await postgres.stop();
    }
  } finally {
    await home.release();
  }
}

// Not held means that a Postgres found there is an orphan, which starting adopts and stops.
function isHeld(home: string): boolean {
  const lock = tryLock(join(home, "lock.sqlite"));
  lock?.release();
  return lock === null;
}
