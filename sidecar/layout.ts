import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recoverDirectories, recoverDirectory } from "./archive/swap-directory.ts";

/** Where everything of a sandbox lives below its workspace root. */
export interface Layout {
  root: string;
  sessions: string;
  /** XDG_DATA_HOME: opencode's database and snapshots, the agent history. */
  history: string;
  home: string;
  managed: string;
  cache: string;
  temporary: string;
  agentConfig: string;
  /** A catalogue with no model in it. */
  agentCatalogue: string;
  agentRecord: string;
  historyMarker: string;
  epochs: string;
  workspaceLives: string;
  knownArchives: string;
  /** What a restore replaced without anybody having an archive of it. */
  replaced: string;
}

/** `cache` and `temporary` are regenerable and so in `managed`, which no archive takes. */
export function layoutOf(root: string): Layout {
  const managed = join(root, "managed");
  return {
    root,
    sessions: join(root, "sessions"),
    history: join(root, "opencode-data"),
    home: join(root, "home"),
    managed,
    cache: join(managed, "cache"),
    temporary: join(managed, "tmp"),
    agentConfig: join(managed, "opencode.json"),
    agentCatalogue: join(managed, "models.json"),
    agentRecord: join(managed, "agent.json"),
    historyMarker: join(managed, "history-restored.json"),
    epochs: join(managed, "epochs.json"),
    workspaceLives: join(managed, "workspaces"),
    knownArchives: join(managed, "archives"),
    replaced: join(managed, "replaced"),
  };
}

export async function makeLayout(layout: Layout): Promise<void> {
  await rm(layout.temporary, { recursive: true, force: true });
  const { sessions, history, home, managed, cache, temporary } = layout;
  for (const directory of [sessions, history, home, managed, cache, temporary]) {
    await mkdir(directory, { recursive: true, mode: 0o755 });
  }
  await writeFile(layout.agentCatalogue, "{}");
}

/** Ends restores that a death cut off, before anything is made or used. */
export async function recoverLayout({ sessions, history, home }: Layout): Promise<void> {
  await recoverDirectory(history);
  await recoverDirectory(home);
  await recoverDirectories(sessions);
}
