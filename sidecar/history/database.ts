import { lstat } from "node:fs/promises";
import { backup, DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { codeOf, Problem } from "../problem.ts";

const checkDeadline = 120_000;
/** All pages in one step: between steps a writer would make it begin again. */
const pagesAtOnce = 1_000_000_000;

/** A coherent copy of a database that somebody may be writing to (invariant 5). */
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

/** What is wrong with a database that nobody uses; null when it is whole. */
export async function findDamage(path: string): Promise<string | null> {
  const status = await lstat(path);
  if (!status.isFile()) return "the database is not a file";
  // In a thread of its own: a large database takes seconds, and the door goes on.
  const worker = new Worker(checkProgram, { eval: true, workerData: path });
  const late = AbortSignal.timeout(checkDeadline);
  try {
    return await new Promise<string | null>((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
      worker.once("exit", () => reject(new Error("the check of the database ended without a result")));
      late.addEventListener("abort", () => reject(new Error("the check of the database took too long")));
    });
  } finally {
    await worker.terminate();
  }
}

const checkProgram = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { DatabaseSync } = require("node:sqlite");
  function check() {
    const database = new DatabaseSync(workerData);
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
  try {
    parentPort.postMessage(check());
  } catch (error) {
    parentPort.postMessage(String(error.message).slice(0, 500));
  }
`;
