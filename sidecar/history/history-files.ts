import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type RawName, rawNameOf } from "../../server/protocol/archive/raw-name.ts";
import type { MeasureOptions } from "../archive/measure-tree.ts";
import { removeTree } from "../archive/remove-tree.ts";
import type { Copies } from "../archive/send-archive.ts";
import { setAside } from "../archive/set-aside.ts";
import type { WalkOptions } from "../archive/walk-tree.ts";
import { Problem } from "../problem.ts";
import { backUpDatabase, findDamage } from "./database.ts";

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
  try {
    for (const name of await listDatabases(root)) {
      const copy = join(folder, name);
      await backUpDatabase(join(root, agentFolder, name), copy);
      const damage = await findDamage(copy);
      if (damage) throw new Problem("conflict", `The agent's database is damaged and was not archived: ${damage}`);
      byName.set(rawNameOf(`${agentFolder}/${name}`), copy);
    }
  } catch (error) {
    await removeTree(folder);
    throw error;
  }
  return { byName, [Symbol.asyncDispose]: () => removeTree(folder) };
}

/** Looks at what is to become the history. A damaged one is set aside, an empty folder takes its place (invariant 7). */
export async function settleDamage(staged: string, place: string): Promise<string | null> {
  const damage = await findDamageIn(staged);
  if (!damage) return null;
  await setAside(staged, place);
  await mkdir(staged, { mode: 0o755 });
  return damage;
}

async function findDamageIn(staged: string): Promise<string | null> {
  for (const name of await listDatabases(staged)) {
    const path = join(staged, agentFolder, name);
    // Of whoever used it before; the database makes it anew.
    await rm(`${path}-shm`, { recursive: true, force: true });
    const damage = await findDamage(path);
    if (damage) return damage;
  }
  return null;
}

export async function hasDatabase(root: string): Promise<boolean> {
  return (await listDatabases(root)).length > 0;
}

async function listDatabases(root: string): Promise<string[]> {
  const names = await readdir(join(root, agentFolder)).catch(() => []);
  return names.filter((name) => name.endsWith(".db")).sort();
}
