import { lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { basename } from "node:path";
import type { LeftOutReason } from "../../server/protocol/archive/archive-answers.ts";
import { nameBytes, type RawName, rawName } from "../../server/protocol/archive/raw-name.ts";
import { codeOf, Problem } from "../sidecar-problem.ts";
import { findInsideTarget } from "./find-inside-target.ts";

export interface TreeEntry {
  /** Relative to the root. */
  name: RawName;
  kind: "file" | "directory" | "link";
  status: Stats;
  /** Of a link; an absolute one that stays inside is given as a relative one. */
  target: RawName;
}

export interface WalkOptions {
  root: string;
  /** Null to take it. Asked before anything is read of it. */
  leaveOut?(entry: { name: RawName; path: PathOfName; status: Stats; parent: RawName }): LeftOutReason | null;
  onLeftOut?(name: RawName, reason: LeftOutReason): void;
}

/**
 * Everything below a directory, each directory before its content and names in the order of their
 * bytes; nothing where there is no such directory. Links are never followed. What cannot be looked at is told, not thrown. Only names that are
 * still to come are held.
 *
 * Whoever can exchange a directory for a link during the walk is the agent, which has no fewer
 * rights than the sidecar: it would show itself what it sees already.
 */
export function* walkTree(options: WalkOptions): Generator<TreeEntry> {
  const { root, leaveOut, onLeftOut } = options;
  const top = lstatSync(root, { throwIfNoEntry: false });
  if (!top) return;
  // Whoever lives here may have put a link in its place.
  if (!top.isDirectory()) throw new Problem("conflict", `${basename(root)} is no longer a directory.`);
  const stack: { directory: RawName; names: RawName[] }[] = [{ directory: "", names: namesIn(root, "") }];
  for (let level = stack.at(-1); level; level = stack.at(-1)) {
    const last = level.names.pop();
    if (last === undefined) {
      stack.pop();
      continue;
    }
    const name = level.directory ? `${level.directory}/${last}` : last;
    const path = pathIn(root, name);
    try {
      const status = lstatSync(path);
      const reason = leaveOut?.({ name, path, status, parent: level.directory }) ?? null;
      if (reason) {
        onLeftOut?.(name, reason);
      } else if (status.isDirectory()) {
        const names = namesIn(root, name);
        yield { name, kind: "directory", status, target: "" };
        stack.push({ directory: name, names });
      } else if (status.isFile()) {
        yield { name, kind: "file", status, target: "" };
      } else if (status.isSymbolicLink()) {
        const target = rawName(readlinkSync(path, { encoding: "buffer" }));
        const inside = findInsideTarget({ root, name, target, mayBeAbsolute: true });
        if (inside === null) onLeftOut?.(name, "link-leads-out");
        else yield { name, kind: "link", status, target: inside };
      } else {
        onLeftOut?.(name, "special-file");
      }
    } catch (error) {
      if (!isOfFileSystem(error)) throw error;
      onLeftOut?.(name, ["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "") ? "vanished" : "unreadable");
    }
  }
}

/** A string where that is the same, which is faster. */
export type PathOfName = string | Buffer;

export function pathIn(root: string, name: RawName): PathOfName {
  if (!/[^\0-\x7f]/.test(name)) return `${root}/${name}`;
  return Buffer.concat([Buffer.from(`${root}/`), nameBytes(name)]);
}

/** In reverse, since they are taken from the end. */
function namesIn(root: string, directory: RawName): RawName[] {
  const names = readdirSync(pathIn(root, directory), { encoding: "buffer" }).map(rawName);
  return names.sort((first, second) => (first < second ? 1 : -1));
}

export function isOfFileSystem(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException)?.syscall === "string";
}
