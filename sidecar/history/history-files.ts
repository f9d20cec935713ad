import { randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type RawName, rawNameOf } from "../../server/protocol/archive/raw-name.ts";
import type { MeasureOptions } from "../archive/measure-tree.ts";
import { removeTree } from "../archive/remove-tree.ts";
import type { Copies } from "../archive/send-archive.ts";
import { setAside } from "../archive/set-aside.ts";
import type { WalkOptions } from "../archive/walk-tree.ts";
import { Problem } from "../sidecar-problem.ts";
import { backUpDatabase, createDatabaseCheck, type DatabaseCheck } from "./database.ts";

/** Below the data directory: opencode's own folder, where its databases lie. */
const agentFolder = "opencode";
const dropped = new Set(["log", "cache", "bin", "tmp"].map((name) => `${agentFolder}/${name}`));

/** What an archive takes. Logs and what can be fetched again stay behind, and so does what belongs to a live database. */
export function historyWalk(root: string): Pick<WalkOptions, "root" | "leaveOut"> {
  return {
    root,
    leaveOut: ({ name }) =>
      dropped.has(name) || /^opencode\/[^/]+\.db-(wal|shm|journal)$/.test(name) ? "regenerable" : null,
  };
}

/** What tells that the history changed: writes to a database show in its log first. */
export function historyTraces(root: string): MeasureOptions {
  return {
    root,
    // SQLite gives it its owner anew at each opening, where it runs as root.
    touchedByReading: (name) => name.endsWith(".db-wal"),
    leaveOut({ name, status }) {
      const isEmptyLog = /\.db-wal$/.test(name) && status.size === 0;
      return dropped.has(name) || /^opencode\/[^/]+\.db-shm$/.test(name) || isEmptyLog ? "regenerable" : null;
    },
  };
}

/** A checked copy of each live database, by the name that it stands for. */
export async function copyDatabases({ root, temporary }: { root: string; temporary: string }): Promise<Copies> {
  const folder = join(temporary, `history-${randomBytes(8).toString("hex")}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const byName = new Map<RawName, string>();
  await using check = createDatabaseCheck();
  try {
    for (const name of await listDatabases(root)) {
      const copy = join(folder, name);
      await backUpDatabase(join(root, agentFolder, name), copy);
      const damage = await check.findDamage(copy);
      if (damage) throw new Problem("conflict", `The agent's database is damaged and was not archived: ${damage}`);
      byName.set(rawNameOf(`${agentFolder}/${name}`), copy);
    }
  } catch (error) {
    await removeTree(folder);
    throw error;
  }
  return { byName, [Symbol.asyncDispose]: () => removeTree(folder) };
}

export interface InspectedHistory {
  damage: string | null;
  /** Whether nothing is otherwise than before. */
  isUntouched: boolean;
}

/** Looks at what is to become the history. A damaged one is set aside, and an empty folder stands there instead (ARCHITECTURE.md, invariant 7). */
export async function setDamagedAside(staged: string, folder: string, check: DatabaseCheck): Promise<InspectedHistory> {
  const before = await tracesOfDatabases(staged);
  const damage = await findDamageIn(staged, check);
  if (!damage) return { damage, isUntouched: before === (await tracesOfDatabases(staged)) };
  await setAside(staged, folder);
  await mkdir(staged, { mode: 0o755 });
  return { damage, isUntouched: false };
}

async function findDamageIn(staged: string, check: DatabaseCheck): Promise<string | null> {
  for (const name of await listDatabases(staged)) {
    const path = join(staged, agentFolder, name);
    // Of whoever used it before; the database makes it anew.
    await rm(`${path}-shm`, { recursive: true, force: true });
    const damage = await check.findDamage(path);
    if (damage) return damage;
  }
  return null;
}

/** Of all that a look at a database could change. */
async function tracesOfDatabases(root: string): Promise<string> {
  const folder = join(root, agentFolder);
  const names = (await readdir(folder).catch(() => [])).filter((name) => /\.db(-|$)/.test(name)).sort();
  const traces = names.map(async (name) => {
    const { ino, size, mode, mtimeMs, ctimeMs } = await lstat(join(folder, name));
    return [name, ino, size, mode, mtimeMs, ctimeMs];
  });
  return JSON.stringify(await Promise.all(traces));
}

export async function hasDatabase(root: string): Promise<boolean> {
  return (await listDatabases(root)).length > 0;
}

async function listDatabases(root: string): Promise<string[]> {
  const names = await readdir(join(root, agentFolder)).catch(() => []);
  return names.filter((name) => name.endsWith(".db")).sort();
}
