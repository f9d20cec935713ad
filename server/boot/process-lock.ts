import { createRequire } from "node:module";

/**
 * A lock between processes that the kernel lets go of however its holder dies: an exclusive transaction
 * on an SQLite file. The file must not be opened by other means in this process, since closing any
 * descriptor of it would drop the lock.
 */
export interface ProcessLock {
  release(): void;
}

/** Null when another process holds it. */
export function tryLock(path: string): ProcessLock | null {
  const database = new (openSqlite())(path, { timeout: 0 });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (isBusy(error)) return null;
    throw error;
  }
  return { release: () => database.close() };
}

const busy = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === busy;
}

// Some versions of Node call node:sqlite experimental, which is nothing to tell the person who starts us.
function openSqlite() {
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: []) => {
    if (!String(warning).includes("SQLite")) emitWarning.call(process, warning, ...rest);
  }) as typeof process.emitWarning;
  try {
    const sqlite = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
    return sqlite.DatabaseSync;
  } finally {
    process.emitWarning = emitWarning;
  }
}
