import {
  type ArchiveNote,
  archiveNote,
  type HistoryPreparation,
  type HistoryRestored,
  type HistoryState,
  type HomeRestored,
  historyRestored,
  historyState,
  homeRestored,
  type WorkspaceRestored,
  type WorkspaceState,
  workspaceRestored,
  workspaceState,
} from "../protocol/archive/archive-answers.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";

/** Takes an archive as it comes. What it made of it may be used only once it resolved and the note was given. */
export type ArchiveSink<Stored> = (body: AsyncIterable<Buffer>) => Promise<Stored>;

export type ArchiveMade<Stored> =
  | { outcome: "made"; note: ArchiveNote; stored: Stored }
  /** There is nothing to archive: a durable archive stays as it is (ARCHITECTURE.md, invariants 8, 21). */
  | { outcome: "empty" }
  /** The fingerprint given still holds. */
  | { outcome: "unchanged" };

export interface CreateArchive<Stored> {
  sink: ArchiveSink<Stored>;
  /** Of the newest archive. */
  unless?: string | null;
  /** Under which the disk remembers it; the note says whether it does. */
  archiveId?: string;
  /** One piece at a time, with pauses. */
  gently?: boolean;
  signal: AbortSignal;
}

export interface RestoreArchive {
  body: AsyncIterable<Uint8Array>;
  /** The newest archive there is: with this one restored the disk is not older than that. */
  knows?: string | null;
  /** What is replaced is set aside in the sandbox instead of being removed. */
  keep?: boolean;
  signal: AbortSignal;
}

/**
 * The archives of one sandbox, through its sidecar. Creating streams into the sink, whose reading fails when the
 * stream was cut or changed; restoring streams out and changes nothing in the sandbox unless all of it arrived.
 * Refusals carry the sidecar's kind: `too-large` names the heaviest files, `conflict` says what is in the way.
 */
export interface SidecarArchives {
  createHistory<Stored>(input: CreateArchive<Stored>): Promise<ArchiveMade<Stored>>;
  /** Opens the gate. HOME has to be restored before. */
  restoreHistory(input: RestoreArchive): Promise<HistoryRestored>;
  /** Opens the gate with the disk as it is, which from here on counts as not older than that archive. */
  skipHistory(input: { knows: string | null; signal: AbortSignal }): Promise<void>;
  /** Before the gate is open. Idempotent. */
  prepareHistory(input: HistoryPreparation, signal: AbortSignal): Promise<HistoryState>;
  createHome<Stored>(input: CreateArchive<Stored>): Promise<ArchiveMade<Stored>>;
  restoreHome(input: RestoreArchive): Promise<HomeRestored>;
  createWorkspace<Stored>(input: CreateArchive<Stored> & { sessionId: string }): Promise<ArchiveMade<Stored>>;
  restoreWorkspace(input: RestoreArchive & { sessionId: string }): Promise<WorkspaceRestored>;
  workspaceState(sessionId: string, signal: AbortSignal): Promise<WorkspaceState>;
  /** For a disk that survived: takes the workspace of an earlier life as this life's; `conflict` unless the fingerprint holds. */
  adoptWorkspace(input: {
    sessionId: string;
    fingerprint?: string;
    knows?: string;
    signal: AbortSignal;
  }): Promise<void>;
}

export function createSidecarArchives(sidecar: SidecarClient): SidecarArchives {
  async function create<Stored>(path: string, input: CreateArchive<Stored>): Promise<ArchiveMade<Stored>> {
    const { sink, signal } = input;
    const answer = await sidecar.download({ method: "POST", path, signal });
    if (answer.status === 204) return { outcome: "empty" };
    if (answer.status === 304) return { outcome: "unchanged" };
    const stored = await sink(answer.body);
    // Throws when the sink did not read to the end, so did not see whether the stream was whole.
    return { outcome: "made", note: archiveNote.parse(answer.note()), stored };
  }

  const upload = (path: string, { body, knows, keep, signal }: RestoreArchive) => {
    const asked = query({ knows, keep: keep ? 1 : null });
    return sidecar.upload<unknown>({ method: "POST", path: `${path}${asked}`, body, signal });
  };
  const creation = ({ unless, archiveId, gently }: CreateArchive<unknown>) => ({
    unless,
    archive: archiveId,
    gently: gently ? 1 : null,
  });

  return {
    createHistory: (input) => create(`/opencode-history/create${query(creation(input))}`, input),
    restoreHistory: async (input) => historyRestored.parse(await upload("/opencode-history/restore", input)),
    async skipHistory({ knows, signal }) {
      await sidecar.json({ method: "POST", path: `/opencode-history/mark-restored${query({ knows })}`, signal });
    },
    async prepareHistory(json, signal) {
      const path = "/opencode-history/prepare";
      const request = { method: "POST", path, json, timeoutMilliseconds: 120_000, signal } as const;
      return historyState.parse(await sidecar.json(request));
    },
    createHome: (input) => create(`/home/create${query(creation(input))}`, input),
    restoreHome: async (input) => homeRestored.parse(await upload("/home/restore", input)),
    createWorkspace: ({ sessionId, ...input }) =>
      create(`/snapshot/create${query({ session: sessionId, ...creation(input) })}`, input),
    restoreWorkspace: async ({ sessionId, ...input }) =>
      workspaceRestored.parse(await upload(`/snapshot/restore/${sessionId}`, input)),
    async workspaceState(sessionId, signal) {
      const path = `/snapshot/state/${sessionId}`;
      const request = { method: "GET", path, timeoutMilliseconds: 120_000, signal } as const;
      return workspaceState.parse(await sidecar.json(request));
    },
    async adoptWorkspace({ sessionId, fingerprint, knows, signal }) {
      const path = `/snapshot/adopt/${sessionId}${query({ fingerprint, knows })}`;
      await sidecar.json({ method: "POST", path, timeoutMilliseconds: 120_000, signal });
    },
  };
}

function query(parameters: Record<string, string | number | null | undefined>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
