import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { join } from "node:path";
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
const maxNameBytes = 255;

export interface ConfinedPath {
  /** Relative to the workspace root, in the form it is shown. */
  path: string;
  segments: string[];
}

export function parsePath(text: string | null | undefined, { forWriting = false } = {}): ConfinedPath {
  if (typeof text !== "string" || text === "") throw new Problem("invalid-input", "A path is missing.");
  const segments = text.replace(/\/$/, "").split("/");
  const bad = segments.some(
    (name) =>
      name === "" || name === "." || name === ".." || name.includes("\0") || Buffer.byteLength(name) > maxNameBytes,
  );
  if (bad || segments.length > maxDepth) throw new Problem("invalid-input", `Not a path in the workspace: ${text}`);
  const [top = ""] = segments;
  if (!readable.includes(top)) throw new Problem("not-found", `There is no ${text} in the workspace.`);
  // Below a session's directory, which is itself made and removed as a workspace.
  if (forWriting && (!writable.includes(top) || segments.length < 3)) {
    throw new Problem("forbidden", `${text} cannot be changed.`);
  }
  return { path: segments.join("/"), segments };
}

/** Runs `use` with a path to the entry through its open directory; nothing below may follow links at the entry itself. */
export async function withEntry<Result>(
  root: string,
  path: ConfinedPath,
  use: (entry: string, name: string) => Promise<Result>,
  { createParents = false } = {},
): Promise<Result> {
  const parents = path.segments.slice(0, -1);
  const name = path.segments.at(-1) ?? "";
  const directory = await openDirectory(root, { path: path.path, segments: parents }, { create: createParents });
  try {
    return await use(`/proc/self/fd/${directory.fd}/${name}`, name);
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
  const base = join(await realPathOf(root), ...segments.slice(0, 2));
  let current = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const [depth, name] of segments.entries()) {
      const next = await openChild(current, name, create && depth >= 2);
      await current.close();
      current = next;
      const realPath = await readlink(`/proc/self/fd/${current.fd}`);
      const boundary = join(base, "/");
      const inside = depth < 2 ? boundary.startsWith(join(realPath, "/")) : join(realPath, "/").startsWith(boundary);
      if (!inside) throw new Problem("forbidden", `${path} is outside its directory.`);
    }
    return current;
  } catch (error) {
    await current.close().catch(() => {});
    throw translate(error, path);
  }
}

async function openChild(parent: FileHandle, name: string, create: boolean): Promise<FileHandle> {
  const child = `/proc/self/fd/${parent.fd}/${name}`;
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  if (!create) return open(child, flags);
  await mkdir(child).catch((error) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
  return open(child, flags);
}

async function realPathOf(root: string): Promise<string> {
  const handle = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return await readlink(`/proc/self/fd/${handle.fd}`);
  } finally {
    await handle.close();
  }
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
  return problemByCode[codeOf(error) ?? ""]?.(path) ?? error;
}
