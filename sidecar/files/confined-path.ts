import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { type RawName, rawName, readName, writtenName } from "../../server/protocol/archive/raw-name.ts";
import { maxFileNameBytes } from "../../server/protocol/limits.ts";
import { shownName } from "../../server/protocol/shown-name.ts";
import { type PathOfName, pathIn } from "../archive/walk-tree.ts";
import { codeOf, Problem } from "../sidecar-problem.ts";

/**
 * Names below the workspace root that come from outside. Only `sessions/<id>` and the library can
 * be reached, never what lies beside them, however links are laid: each directory on the way is
 * opened, its real path is asked of the kernel, and the last name is used relative to the open
 * directory, so that exchanging a directory for a link in between changes nothing.
 */
const readable = ["sessions", "user_library"];
const writable = ["sessions"];
const maxDepth = 64;

export interface ConfinedPath {
  /** Relative to the workspace root, as it is written (`raw-name.ts`). */
  path: string;
  segments: RawName[];
}

/** Where something is, for as long as its directory is open. */
export interface EntryPlace {
  /** Nothing may follow links at the entry itself. */
  at: PathOfName;
  /** Of its directory. */
  folder: string;
}

export function parsePath(text: string | null | undefined, { forWriting = false } = {}): ConfinedPath {
  if (typeof text !== "string" || text === "") throw new Problem("invalid-input", "A path is missing.");
  const segments = readName(text.replace(/\/$/, ""))?.split("/") ?? [""];
  const bad = segments.some(
    (name) => name === "" || name === "." || name === ".." || name.includes("\0") || name.length > maxFileNameBytes,
  );
  if (bad || segments.length > maxDepth)
    throw new Problem("invalid-input", `Not a path in the workspace: ${shownName(text)}`);
  const [top = ""] = segments;
  if (!readable.includes(top)) throw new Problem("not-found", `There is no ${shownName(text)} in the workspace.`);
  // Below a session's directory, which is itself made and removed as a workspace.
  if (forWriting && (!writable.includes(top) || segments.length < 3)) {
    throw new Problem("forbidden", `${shownName(text)} cannot be changed.`);
  }
  return { path: writtenName(segments.join("/")), segments };
}

/** Runs `use` with a way to the entry through its open directory. */
export async function withEntry<Result>(
  root: string,
  path: ConfinedPath,
  use: (place: EntryPlace) => Promise<Result>,
  { createParents = false } = {},
): Promise<Result> {
  const parents = path.segments.slice(0, -1);
  const name = path.segments.at(-1) ?? "";
  const directory = await openDirectory(root, { path: path.path, segments: parents }, { create: createParents });
  try {
    const folder = folderOf(directory);
    return await use({ at: pathIn(folder, name), folder });
  } catch (error) {
    throw translate(error, path.path);
  } finally {
    await directory.close();
  }
}

/** The caller closes it. */
export async function openDirectory(
  root: string,
  { path, segments }: ConfinedPath,
  { create = false } = {},
): Promise<FileHandle> {
  // No links between sessions either: each one's directory is a boundary of its own.
  let current = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const boundary = [await realPathOf(current), ...segments.slice(0, 2), ""].join("/");
    for (const [depth, name] of segments.entries()) {
      const next = await openChild(current, name, create && depth >= 2);
      await current.close();
      current = next;
      const realPath = `${await realPathOf(current)}/`;
      const inside = depth < 2 ? boundary.startsWith(realPath) : realPath.startsWith(boundary);
      if (!inside) throw new Problem("forbidden", `${shownName(path)} is outside its directory.`);
    }
    return current;
  } catch (error) {
    await current.close().catch(() => {});
    throw translate(error, path);
  }
}

/** The path of an open directory by which the kernel finds it, wherever it is moved. */
export function folderOf(directory: FileHandle): string {
  return `/proc/self/fd/${directory.fd}`;
}

/** Where an open directory really is. */
export async function realPathOf(directory: FileHandle): Promise<RawName> {
  return rawName(await readlink(folderOf(directory), { encoding: "buffer" }));
}

async function openChild(parent: FileHandle, name: RawName, create: boolean): Promise<FileHandle> {
  const child = pathIn(folderOf(parent), name);
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  if (!create) return open(child, flags);
  await mkdir(child).catch((error) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
  return open(child, flags);
}

const problemByCode: Record<string, (path: string) => Problem> = {
  ENOENT: (path) => new Problem("not-found", `There is no ${path} in the workspace.`),
  ENOTDIR: (path) => new Problem("not-found", `There is no ${path} in the workspace.`),
  ELOOP: (path) => new Problem("forbidden", `${path} is a link, which is not followed.`),
  EISDIR: (path) => new Problem("invalid-input", `${path} is a directory.`),
  EEXIST: (path) => new Problem("conflict", `${path} exists.`),
  ENOTEMPTY: (path) => new Problem("conflict", `${path} exists.`),
  EACCES: (path) => new Problem("forbidden", `${path} cannot be accessed.`),
  EPERM: (path) => new Problem("forbidden", `${path} cannot be accessed.`),
  ENAMETOOLONG: (path) => new Problem("invalid-input", `${path} is too long.`),
  EINVAL: (path) => new Problem("invalid-input", `This cannot be done with ${path}.`),
  ENOSPC: () => new Problem("unavailable", "The sandbox has no space left."),
  EDQUOT: () => new Problem("unavailable", "The sandbox has no space left."),
};

function translate(error: unknown, path: string): unknown {
  return problemByCode[codeOf(error) ?? ""]?.(shownName(path)) ?? error;
}
