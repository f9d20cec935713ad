import { accessSync, constants, readlinkSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import {
  archiveRoots,
  type WorkspaceRestored,
  type WorkspaceState,
} from "../../server/protocol/archive/archive-answers.ts";
import { type RawName, rawName, rawNameOf } from "../../server/protocol/archive/raw-name.ts";
import { workspaceLimits } from "../../server/protocol/limits.ts";
import { archiveIdIn, type KnownArchives } from "../archive/known-archives.ts";
import { measureTree, type TreeMeasure } from "../archive/measure-tree.ts";
import { isRegenerable } from "../archive/regenerable.ts";
import { restoreDirectory } from "../archive/restore-directory.ts";
import { sendArchive } from "../archive/send-archive.ts";
import type { Reach } from "../archive/swap-directory.ts";
import { type PathOfName, pathIn, type WalkOptions } from "../archive/walk-tree.ts";
import type { Exchange } from "../door/exchange.ts";
import type { Layout } from "../layout.ts";
import { codeOf, Problem } from "../sidecar-problem.ts";
import type { WorkspaceLocks } from "../workspace-locks.ts";
import type { WorkspaceLives } from "./workspace-lives.ts";

/** Workspace snapshots: one session's directory as an archive, with its repository. */
export interface WorkspaceSnapshots {
  create(exchange: Exchange, sessionId: string): Promise<void>;
  restore(exchange: Exchange, sessionId: string): Promise<void>;
  state(exchange: Exchange, sessionId: string): Promise<void>;
  /** Takes a workspace of an earlier life, on a disk that survived, as it stands. */
  adopt(exchange: Exchange, sessionId: string): Promise<void>;
}

export interface WorkspaceSnapshotsOptions {
  layout: Layout;
  lives: WorkspaceLives;
  known: KnownArchives;
  locks: WorkspaceLocks;
  reach?: Reach;
}

/** What `git init` with a root commit leaves behind, at most. */
const objectsOfNewRepository = 2;

export function createWorkspaceSnapshots({
  layout,
  lives,
  known,
  locks,
  reach,
}: WorkspaceSnapshotsOptions): WorkspaceSnapshots {
  const directoryOf = (sessionId: string) => join(layout.sessions, sessionId);

  async function isThere(sessionId: string): Promise<boolean> {
    return (await lstat(directoryOf(sessionId)).catch(() => null))?.isDirectory() ?? false;
  }

  const measure = (sessionId: string, signal: AbortSignal) =>
    measureWorkspace(workspaceWalk(layout, directoryOf(sessionId)), signal);

  return {
    async create(exchange, sessionId) {
      await exchange.body();
      const id = archiveIdIn(exchange.query, "archive");
      // Beside whoever works in it: a file that is written to meanwhile is named in the manifest.
      await locks.shareNow(sessionId, async () => {
        const { life, complete } = await lives.find(sessionId);
        if (life !== "this" || !complete) {
          throw new Problem("conflict", "This workspace was neither created nor restored since the sandbox started.");
        }
        if (!(await isThere(sessionId))) throw new Problem("not-found", "This session has no workspace.");
        const found = await measure(sessionId, exchange.signal);
        await sendArchive(exchange, found, {
          what: "The workspace",
          isEmpty: found.isEmpty,
          walk: workspaceWalk(layout, directoryOf(sessionId)),
          limits: workspaceLimits,
          rootName: archiveRoots.workspace,
          withManifest: true,
          ...(id ? { remember: () => known.add(sessionId, id) } : {}),
        });
      });
    },
    async restore(exchange, sessionId) {
      const body = exchange.upload();
      const knows = archiveIdIn(exchange.query, "knows");
      const restored = await locks.haveAlone(sessionId, exchange.signal, async () => {
        const directory = directoryOf(sessionId);
        const setsAside =
          exchange.query.has("keep") || (await holdsUnreadable(workspaceWalk(layout, directory), exchange.signal));
        const { fingerprint, entries, bytes } = await restoreDirectory({
          source: body,
          directory,
          rootName: archiveRoots.workspace,
          unrelated: "refuse",
          limits: workspaceLimits,
          signal: exchange.signal,
          keepIn: setsAside ? join(layout.replaced, sessionId) : null,
          ...(reach ? { reach } : {}),
        });
        if (knows) await known.add(sessionId, knows);
        await lives.set(sessionId, "restored");
        return { fingerprint, entries, bytes, setAside: setsAside };
      });
      exchange.json(200, restored satisfies WorkspaceRestored);
    },
    async state(exchange, sessionId) {
      const exists = await isThere(sessionId);
      const { life, complete } = await lives.find(sessionId);
      const found = exists ? await measure(sessionId, exchange.signal) : null;
      const state: WorkspaceState = {
        exists,
        life: complete ? life : "none",
        fingerprint: found?.fingerprint ?? null,
        entries: found?.entries ?? 0,
        bytes: found?.bytes ?? 0,
        known: await known.list(sessionId),
      };
      exchange.json(200, state);
    },
    async adopt(exchange, sessionId) {
      await exchange.body();
      const knows = archiveIdIn(exchange.query, "knows");
      await locks.share(sessionId, exchange.signal, async () => {
        const { life, complete } = await lives.find(sessionId);
        if (life === "none" || !complete || !(await isThere(sessionId))) {
          throw new Problem("conflict", "There is no earlier workspace that could be adopted.");
        }
        const { fingerprint } = await measure(sessionId, exchange.signal);
        const expected = exchange.query.get("fingerprint");
        if (expected !== null && expected !== fingerprint) {
          throw new Problem("conflict", "The workspace is not the one that was expected.");
        }
        if (knows) await known.add(sessionId, knows);
        if (life === "earlier") await lives.set(sessionId, "adopted");
      });
      exchange.json(200, {});
    },
  };
}

function workspaceWalk(layout: Layout, root: string): Pick<WalkOptions, "root" | "leaveOut"> {
  const managed = ["skills", "user_library"].map((name) => rawNameOf(join(layout.root, name)));
  const isManaged = (target: RawName) => managed.some((path) => target === path || target.startsWith(`${path}/`));
  return {
    root,
    leaveOut({ name, path, status }) {
      if (status.isDirectory()) return isRegenerable(name, path) ? "regenerable" : null;
      if (status.isSymbolicLink()) {
        return isManaged(rawName(readlinkSync(path, { encoding: "buffer" }))) ? "managed-link" : null;
      }
      // An upload that is still under way.
      return /(^|\/)\.dormouse-[0-9a-f]{16}\.tmp$/.test(name) ? "regenerable" : null;
    },
  };
}

/** No archive has what may not be read: replaced without being set aside, it would be gone. */
async function holdsUnreadable(walk: Pick<WalkOptions, "root" | "leaveOut">, signal: AbortSignal): Promise<boolean> {
  let found = false;
  await measureTree(
    {
      ...walk,
      onLeftOut(_name, reason) {
        if (reason === "unreadable") found = true;
      },
      onEntry({ name, kind }) {
        if (kind === "file" && !found) found = !isReadable(pathIn(walk.root, name));
      },
    },
    signal,
  );
  return found;
}

function isReadable(path: PathOfName): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch (error) {
    return codeOf(error) === "ENOENT";
  }
}

/** Empty: nothing but folders, and a repository as it was made (ARCHITECTURE.md, invariant 21). */
async function measureWorkspace(
  walk: Pick<WalkOptions, "root" | "leaveOut">,
  signal: AbortSignal,
): Promise<TreeMeasure & { isEmpty: boolean }> {
  let files = 0;
  let objects = 0;
  const found = await measureTree(
    {
      ...walk,
      onEntry({ name, kind }) {
        if (kind === "directory") return;
        if (!name.startsWith(".git/")) files += 1;
        else if (name.startsWith(".git/objects/")) objects += 1;
      },
    },
    signal,
  );
  return { ...found, isEmpty: files === 0 && objects <= objectsOfNewRepository };
}
