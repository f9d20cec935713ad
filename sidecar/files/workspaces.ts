import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { KnownArchives } from "../archive/known-archives.ts";
import { removeTree } from "../archive/remove-tree.ts";
import { runHelper } from "../processes/helper-programs.ts";
import { codeOf, Problem } from "../sidecar-problem.ts";
import type { WorkspaceLives } from "../snapshots/workspace-lives.ts";
import type { WorkspaceLocks } from "../workspace-locks.ts";

const deadline = 20_000;

export interface Workspaces {
  /**
   * A git repository with a root commit, before opencode sees it. Idempotent. One that stands is prepared while it is
   * archived or changed; a restore and a removal are waited for.
   */
  prepare(sessionId: string, signal: AbortSignal): Promise<{ directory: string }>;
  /** Idempotent. Waits for what is under way, also when nobody waits for it any more: nobody would ask again. */
  remove(sessionId: string): Promise<void>;
}

export interface WorkspacesOptions {
  sessions: string;
  /** Where what restores replaced is kept, by session. */
  replaced: string;
  path: string;
  lives: WorkspaceLives;
  known: Pick<KnownArchives, "remove">;
  locks: WorkspaceLocks;
}

export function createWorkspaces({ sessions, replaced, path, lives, known, locks }: WorkspacesOptions): Workspaces {
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

  async function git(directory: string, ...rest: string[]): Promise<void> {
    try {
      await runHelper("git", ["-C", directory, ...rest], { environment, timeout: deadline });
    } catch (error) {
      if (codeOf(error) === "ENOENT") throw new Problem("unavailable", "The sandbox has no git.");
      throw error;
    }
  }

  const directoryOf = (sessionId: string) => join(sessions, sessionId);

  /** What stands without a record is not known to be whole, and stays without one. */
  async function isNew(sessionId: string): Promise<boolean> {
    const { complete, life } = await lives.find(sessionId);
    return life === "none" ? !(await stat(directoryOf(sessionId)).catch(() => null)) : !complete;
  }

  async function make(sessionId: string): Promise<void> {
    // Somebody else may have made it while this was waiting.
    const wasNew = await isNew(sessionId);
    if (wasNew) await lives.set(sessionId, "creating");
    await complete(sessionId);
    if (wasNew) await lives.set(sessionId, "created");
  }

  async function complete(sessionId: string): Promise<void> {
    const directory = directoryOf(sessionId);
    for (const name of ["outputs", "attachments"]) await mkdir(join(directory, name), { recursive: true });
    if (await hasCommit(directory)) return;
    await git(directory, "init", "--quiet", "--template=", "--initial-branch=main");
    const message = `Session ${sessionId}`;
    await git(directory, "commit", "--quiet", "--allow-empty", "--only", "--no-gpg-sign", "--message", message);
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
    async prepare(sessionId, signal) {
      // One at a time: two cannot make one repository.
      await locks.haveAlone(`prepare ${sessionId}`, signal, async () => {
        const stands = await locks.share(sessionId, signal, async () => {
          if (await isNew(sessionId)) return false;
          await complete(sessionId);
          return true;
        });
        if (!stands) await locks.haveAlone(sessionId, signal, () => make(sessionId));
      });
      return { directory: directoryOf(sessionId) };
    },
    remove: (sessionId) =>
      locks.haveAlone(sessionId, null, async () => {
        await removeTree(directoryOf(sessionId));
        await removeTree(join(replaced, sessionId));
        await lives.remove(sessionId);
        await known.remove(sessionId);
      }),
  };
}
