import { execFile } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { KnownArchives } from "../archive/known-archives.ts";
import { removeTree } from "../archive/remove-tree.ts";
import type { Exclusive } from "../exclusive.ts";
import { codeOf, Problem } from "../sidecar-problem.ts";
import type { WorkspaceLives } from "../snapshots/workspace-lives.ts";
import { workspaceKey } from "../snapshots/workspace-snapshots.ts";

const run = promisify(execFile);
const deadline = 20_000;

export interface Workspaces {
  /** A git repository with a root commit, before opencode sees it. Idempotent. */
  prepare(sessionId: string): Promise<{ directory: string }>;
  /** Idempotent. */
  remove(sessionId: string): Promise<void>;
}

export interface WorkspacesOptions {
  sessions: string;
  /** Where what restores replaced is kept, by session. */
  replaced: string;
  path: string;
  lives: WorkspaceLives;
  known: Pick<KnownArchives, "remove">;
  exclusive: Exclusive;
}

export function createWorkspaces({ sessions, replaced, path, lives, known, exclusive }: WorkspacesOptions): Workspaces {
  // Nobody's configuration or hooks, and always the same: opencode knows a project by its root
  // commit, which so is that of the session also when its directory is made anew.
  const identity = { name: "Dormouse", email: "dormouse@dormouse.invalid", date: "2000-01-01T00:00:00Z" };
  const environment: Record<string, string> = {
    PATH: path,
    HOME: "/nonexistent",
    LANG: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_AUTHOR_NAME: identity.name,
    GIT_AUTHOR_EMAIL: identity.email,
    GIT_AUTHOR_DATE: identity.date,
    GIT_COMMITTER_NAME: identity.name,
    GIT_COMMITTER_EMAIL: identity.email,
    GIT_COMMITTER_DATE: identity.date,
  };
  const underway = new Map<string, Promise<{ directory: string }>>();

  async function git(directory: string, ...rest: string[]): Promise<void> {
    try {
      await run("git", ["-C", directory, ...rest], { env: environment as NodeJS.ProcessEnv, timeout: deadline });
    } catch (error) {
      if (codeOf(error) === "ENOENT") throw new Problem("unavailable", "The sandbox has no git.");
      throw error;
    }
  }

  async function make(sessionId: string): Promise<{ directory: string }> {
    const directory = join(sessions, sessionId);
    const { complete, life } = await lives.find(sessionId);
    // What stands here without a record is not known to be whole, and stays without one.
    const isNew = life === "none" ? !(await stat(directory).catch(() => null)) : !complete;
    if (isNew) await lives.set(sessionId, "creating");
    for (const name of ["outputs", "attachments"]) await mkdir(join(directory, name), { recursive: true });
    if (!(await hasCommit(directory))) {
      await git(directory, "init", "--quiet", "--template=", "--initial-branch=main");
      const message = `Session ${sessionId}`;
      await git(directory, "commit", "--quiet", "--allow-empty", "--only", "--no-gpg-sign", "--message", message);
    }
    if (isNew) await lives.set(sessionId, "created");
    return { directory };
  }

  async function hasCommit(directory: string): Promise<boolean> {
    if (!(await stat(join(directory, ".git")).catch(() => null))) return false;
    return git(directory, "rev-parse", "--quiet", "--verify", "HEAD").then(
      () => true,
      (error) => {
        if (error instanceof Problem) throw error;
        return false;
      },
    );
  }

  return {
    prepare(sessionId) {
      const making =
        underway.get(sessionId) ??
        exclusive.run(workspaceKey(sessionId), () => make(sessionId)).finally(() => underway.delete(sessionId));
      underway.set(sessionId, making);
      return making;
    },
    async remove(sessionId) {
      await underway.get(sessionId)?.catch(() => {});
      await exclusive.run(workspaceKey(sessionId), async () => {
        await removeTree(join(sessions, sessionId));
        await removeTree(join(replaced, sessionId));
        await lives.remove(sessionId);
        await known.remove(sessionId);
      });
    },
  };
}
