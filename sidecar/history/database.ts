import { once } from "node:events";
import { lstat } from "node:fs/promises";
import { backup, DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { codeOf, Problem } from "../sidecar-problem.ts";

const checkDeadline = 120_000;
/** All pages in one step: between steps a writer would make it begin again. */
const pagesAtOnce = 1_000_000_000;

/** A coherent copy of a database that somebody may be writing to (ARCHITECTURE.md, invariant 5). */
export async function backUpDatabase(from: string, to: string): Promise<void> {
  if (!(await lstat(from)).isFile()) throw new Problem("conflict", "The agent's database is not a file.");
  try {
    const source = new DatabaseSync(from, { readOnly: true, timeout: 10_000 });
    try {
      await backup(source, to, { rate: pagesAtOnce });
    } finally {
      source.close();
    }
  } catch (error) {
    if (codeOf(error) !== "ERR_SQLITE_ERROR") throw error;
    throw new Problem("conflict", `The agent's database cannot be copied: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Looks at databases that nobody uses, in a thread of its own: a large one takes seconds, and the door goes on. */
export interface DatabaseCheck extends AsyncDisposable {
  /** What is wrong with it; null when it is whole. */
  findDamage(path: string): Promise<string | null>;
}

/** To be made early: the start of a thread takes longer than most checks, and goes on beside other things. */
export function createDatabaseCheck(): DatabaseCheck {
  const worker = new Worker(checkProgram, { eval: true });
  const ended = new Promise<never>((_resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the check of the database ended without a result")));
  });
  // Seen by whoever waits for a result.
  ended.catch(() => {});
  return {
    async findDamage(path) {
      const status = await lstat(path);
      if (!status.isFile()) return "the database is not a file";
      const late = AbortSignal.timeout(checkDeadline);
      const answered = once(worker, "message", { signal: late }).then(
        ([damage]) => damage as string | null,
        (error) => {
          throw late.aborted ? new Error("the check of the database took too long") : error;
        },
      );
      worker.postMessage(path);
      return await Promise.race([answered, ended]);
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}

const checkProgram = `
  const { parentPort } = require("node:worker_threads");
  const { DatabaseSync } = require("node:sqlite");
  function check(path) {
    const database = new DatabaseSync(path);
    try {
      database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;");
      const rows = database.prepare("PRAGMA quick_check(3)").all();
      const found = rows.map((row) => String(Object.values(row)[0])).join("; ");
      // Also reads the schema, which the check above takes for granted.
      database.prepare("SELECT count(*) FROM sqlite_schema").all();
      return found === "ok" ? null : found.slice(0, 500);
    } finally {
      database.close();
    }
  }
  parentPort.on("message", (path) => {
    try {
      parentPort.postMessage(check(path));
    } catch (error) {
      parentPort.postMessage(String(error.message).slice(0, 500));
    }
  });
`;
