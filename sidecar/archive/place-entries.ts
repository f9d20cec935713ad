import { chmodSync, linkSync, lstatSync, mkdirSync, type Stats, symlinkSync, unlinkSync } from "node:fs";
import { nameBytes, type RawName } from "../../server/protocol/archive/raw-name.ts";
import type { FoundEntry } from "../../server/protocol/archive/read-tar.ts";
import { codeOf } from "../sidecar-problem.ts";
import { isSegment, isTooLong, maxDepth, refused, segmentsOf } from "./entry-place.ts";
import { createFileWriter } from "./file-writer.ts";
import { createFingerprint, type ToldEntry, type ToldStatus } from "./fingerprint.ts";
import { type PathOfName, pathIn } from "./walk-tree.ts";
import { smallBytes, writeEntryFile } from "./write-entry-file.ts";

/**
 * Puts the entries of an archive that nobody vouches for into a directory of ours (ARCHITECTURE.md, invariant 18). Nothing is
 * written through a link, nothing outside the directory, and only files, folders and links are made.
 */
export interface EntryPlaces {
  /** Below the root; null for an entry outside it. Throws for a name that could lead anywhere but down. */
  find(name: RawName): RawName | null;
  /** At a name that was found. To be awaited where there is something to await. */
  place(entry: FoundEntry, name: RawName): Promise<void> | undefined;
  /** Whether files are being written beside this thread. */
  readonly isBusy: boolean;
  /** Everything stands. The fingerprint, or null where only a walk can tell it. */
  finish(): Promise<string | null>;
  /** Nothing is placed any more. */
  close(): Promise<void>;
}

/** More than any file system's clock is off. */
const recently = 2_000;
const maxRemembered = 10_000;

export function createEntryPlaces({ into, rootName }: { into: string; rootName: string }): EntryPlaces {
  const inside = `${rootName}/`;
  const locked: { path: PathOfName; mode: number }[] = [];
  /** Made here, with their depth, and so folders for good: nothing replaces one. */
  const folders = new Map<RawName, number>([["", 0]]);
  const writer = createFileWriter();
  /** As long as entries come as a walk finds them, each once: then it does not matter which file is written first. */
  let isInOrder = true;
  let last = { parent: "", name: "" };
  const fingerprint = createFingerprint();
  /** As long as a walk would find nothing else. */
  let isTold = true;
  /** What is still to be told, in its order; without a status while it is being written. */
  const untold: (Omit<ToldEntry, "status"> & { status: ToldStatus | null })[] = [];

  function isNext(name: RawName): boolean {
    const parent = parentOf(name);
    const follows = parent === last.parent ? name > last.name : walkedPlace(name) > walkedPlace(last.name);
    last = { parent, name };
    return follows && folders.has(parent);
  }

  /** To be called with its status, now or later. */
  function telling(name: RawName, kind: "file" | "directory"): (status: ToldStatus) => void {
    if (!isTold) return () => {};
    const entry: (typeof untold)[number] = { name, kind, status: null, target: "" };
    untold.push(entry);
    return (status) => {
      entry.status = status;
      // What is written to the file from now on shows in its time of writing, unless that is now anyway.
      if (kind === "file" && status.mtimeMs > Date.now() - recently) isTold = false;
      const ready = untold.findIndex((one) => one.status === null);
      for (const one of untold.splice(0, ready === -1 ? untold.length : ready)) fingerprint.add(one as ToldEntry);
    };
  }

  /** Every folder on the way must be one that stands here already, or is made now. */
  function makeParents(name: RawName): void {
    if (folders.has(parentOf(name))) return;
    const segments = name.split("/");
    for (let depth = 1; depth < segments.length; depth += 1) makeDirectory(segments.slice(0, depth).join("/"));
  }

  function makeDirectory(name: RawName): void {
    if (folders.has(name)) return;
    const path = pathIn(into, name);
    try {
      mkdirSync(path, 0o755);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      if (!lstatSync(path).isDirectory()) throw refused(name, "it lies below something that is not a folder");
    }
    if (folders.size >= maxRemembered) forgetFolders(name);
    folders.set(name, name.split("/").length);
  }

  /** All but those above this one. */
  function forgetFolders(name: RawName): void {
    for (const known of folders.keys()) if (known !== "" && !name.startsWith(`${known}/`)) folders.delete(known);
  }

  function placeDirectory({ mode }: FoundEntry, name: RawName): void {
    makeDirectory(name);
    const path = pathIn(into, name);
    let status = lstatSync(path);
    if ((mode & 0o700) !== 0o700) {
      // One that its owner may not write into is locked when everything is in it.
      locked.push({ path, mode });
      isTold = false;
    } else if ((status.mode & 0o777) !== mode) {
      chmodSync(path, mode);
      status = lstatSync(path);
    }
    telling(name, "directory")(status);
  }

  /** Where nothing stands in the way; a later entry of a name replaces an earlier one. */
  function clear(name: RawName, path: PathOfName): void {
    const standing = lstatSync(path, { throwIfNoEntry: false });
    if (!standing) return;
    if (standing.isDirectory()) throw refused(name, "it is a folder as well");
    unlinkSync(path);
  }

  function placeFile(entry: FoundEntry, name: RawName, path: PathOfName): Promise<void> | undefined {
    const tell = telling(name, "file");
    if (isInOrder && typeof path === "string" && entry.size <= smallBytes && writer.hasRoom(entry.size)) {
      const body = entry.takeBody();
      if (body) {
        writer.write({ path, mode: entry.mode, modifiedAt: entry.modifiedAt, body, onWritten: tell });
        return;
      }
    }
    let written: Stats | Promise<Stats>;
    try {
      written = writeEntryFile(path, entry);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      clear(name, path);
      written = writeEntryFile(path, entry);
    }
    if (written instanceof Promise) return written.then(tell);
    tell(written);
  }

  function placeLink(entry: FoundEntry, name: RawName, path: PathOfName): void {
    // Where a link leads is known when all of them stand; a second name changes the time of the file.
    isTold = false;
    clear(name, path);
    if (entry.kind === "link") {
      requireDownwards(entry, name);
      symlinkSync(nameBytes(entry.target), path);
      return;
    }
    const [root, ...target] = segmentsOf(entry.target);
    const from = pathIn(into, target.join("/"));
    if (root !== rootName || !lstatSync(from, { throwIfNoEntry: false })?.isFile()) {
      throw refused(entry.name, "it is a hard link to something that is not in the archive before it");
    }
    if (target.slice(0, -1).some((_, depth) => !isFolder(into, target.slice(0, depth + 1)))) {
      throw refused(entry.name, "it is a hard link through a link");
    }
    linkSync(from, path);
  }

  function placeNow(entry: FoundEntry, name: RawName): Promise<void> | undefined {
    makeParents(name);
    if (entry.kind === "directory") return void placeDirectory(entry, name);
    const path = pathIn(into, name);
    if (entry.kind === "file") return placeFile(entry, name, path);
    if (entry.kind === "other") throw refused(entry.name, "it is a device, a pipe or of an unknown kind");
    placeLink(entry, name, path);
  }

  return {
    find(name) {
      // Most entries lie in a folder that was made of an entry before them: then only their last part is new.
      if (name.startsWith(inside) && !isTooLong(name)) {
        const below = name.slice(inside.length);
        const depth = folders.get(parentOf(below));
        if (depth !== undefined && depth + 1 < maxDepth && isSegment(lastOf(below))) return below;
      }
      const [root, ...segments] = segmentsOf(name);
      return root === rootName ? segments.join("/") : null;
    },
    place(entry, name) {
      if (name === "") {
        // The root is ours: everything else has to get into it.
        if (entry.kind === "directory") return;
        throw refused(entry.name, "the root is not a folder");
      }
      if (!isNext(name)) isInOrder = isTold = false;
      const mayDependOnOthers = !isInOrder || entry.kind === "hard-link";
      if (mayDependOnOthers && writer.isBusy) return writer.drain().then(() => placeNow(entry, name));
      return placeNow(entry, name);
    },
    get isBusy() {
      return writer.isBusy;
    },
    async finish() {
      await writer.drain();
      for (const { path, mode } of locked.reverse()) chmodSync(path, mode);
      return isTold ? fingerprint.digest() : null;
    },
    close: () => writer.close(),
  };
}

/** What is below a folder comes before what only begins like it. */
function walkedPlace(name: RawName): string {
  return name.replaceAll("/", "\0");
}

function parentOf(name: RawName): RawName {
  return name.slice(0, Math.max(0, name.lastIndexOf("/")));
}

function lastOf(name: RawName): RawName {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** By its words alone; detours over other links are looked at when all of them stand. */
function requireDownwards({ name: shown, target }: FoundEntry, name: RawName): void {
  if (target === "" || target.includes("\0") || target.length > 4_000) throw refused(shown, "it is a link to nowhere");
  if (target.startsWith("/")) throw refused(shown, "it is a link to an absolute path");
  let depth = name.split("/").length - 1;
  for (const part of target.split("/")) {
    if (part === "" || part === ".") continue;
    depth += part === ".." ? -1 : 1;
    if (depth < 0) throw refused(shown, "it is a link that points outside");
  }
}

function isFolder(into: string, segments: readonly RawName[]): boolean {
  return lstatSync(pathIn(into, segments.join("/")), { throwIfNoEntry: false })?.isDirectory() ?? false;
}
