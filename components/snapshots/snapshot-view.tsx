"use client";

import { ArrowLeft, Download } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { FileEntry } from "@/server/protocol/sidecar.ts";
import type { Snapshot, SnapshotFiles } from "@/server/protocol/snapshots.ts";
import { FileTree } from "../files/file-tree.tsx";
import { FileViewer } from "../files/file-viewer.tsx";
import { snapshotAddress, snapshotFileAddress } from "../session/session-api.ts";
import { Button, buttonClasses } from "../ui/button.tsx";
import { LoadingLines } from "../ui/loading-lines.tsx";
import { Moment } from "../ui/moment.tsx";
import { Time } from "../ui/time.tsx";
import { LeftOut } from "./left-out.tsx";
import { toFolders } from "./snapshot-folders.ts";
import { toSnapshotWords } from "./snapshot-words.ts";
import { useSnapshotFiles } from "./use-snapshot-files.ts";

interface SnapshotViewProps {
  sessionId: string;
  snapshot: Snapshot;
  /** What can be done with it. */
  restore: ReactNode;
  onBack: () => void;
}

/** What is in a snapshot, read from the store: the sandbox may sleep. */
export function SnapshotView({ sessionId, snapshot, restore, onBack }: SnapshotViewProps) {
  const { files, problem, retry } = useSnapshotFiles(sessionId, snapshot.id);
  const at = new Date(snapshot.createdAt);
  const back = useRef<HTMLButtonElement>(null);
  // What was clicked is gone from the page; who uses a keyboard goes on from here.
  useEffect(() => back.current?.focus(), []);

  return (
    <section aria-label="Snapshot" className="flex min-h-0 flex-1 flex-col">
      <header className="flex shrink-0 items-center gap-1 border-b border-line py-1.5 pr-2 pl-2">
        <Button ref={back} look="quiet" size="icon" aria-label="Back to all snapshots" onClick={onBack}>
          <ArrowLeft aria-hidden="true" className="size-4 text-muted" strokeWidth={1.75} />
        </Button>
        <div className="min-w-0 flex-1 text-13">
          <h2 className="truncate font-medium">
            Snapshot from <Moment at={at} />
          </h2>
          <p className="truncate text-12 text-muted">
            <Time at={at} justNow="just now" /> · {toSnapshotWords(snapshot, files)}
          </p>
        </div>
        {restore}
        <a
          href={snapshotAddress(sessionId, snapshot.id)}
          download
          aria-label="Download the whole snapshot"
          title="Download the whole snapshot (.tar.gz)"
          className={buttonClasses({ look: "quiet", size: "icon" })}
        >
          <Download aria-hidden="true" className="size-4 text-muted" strokeWidth={1.75} />
        </a>
      </header>
      {files && <Contents sessionId={sessionId} snapshotId={snapshot.id} files={files} />}
      {!files && !problem && (
        <div className="p-4">
          <LoadingLines />
        </div>
      )}
      {problem && (
        <Middle title="This snapshot cannot be shown" words={problem}>
          <div className="flex gap-2 pt-3">
            <Button size="small" onClick={retry}>
              Try again
            </Button>
            <Button size="small" look="quiet" onClick={onBack}>
              All snapshots
            </Button>
          </div>
        </Middle>
      )}
    </section>
  );
}

function Contents({ sessionId, snapshotId, files }: { sessionId: string; snapshotId: string; files: SnapshotFiles }) {
  const folders = useMemo(() => toFolders(files), [files]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(["outputs"]));
  const [selected, setSelected] = useState<FileEntry | null>(null);

  function toggle(path: string) {
    const next = new Set(open);
    if (!next.delete(path)) next.add(path);
    setOpen(next);
  }

  return (
    <>
      <LeftOut files={files} />
      {folders.get("")?.entries.length === 0 ? (
        <Middle title="No files" words="There were only empty folders when it was taken." />
      ) : (
        <div
          className={`min-h-0 overflow-y-auto p-2 ${selected ? "max-h-[40%] shrink-0 border-b border-line" : "flex-1"}`}
        >
          <FileTree
            folders={folders}
            open={open}
            selected={selected?.path ?? null}
            onToggle={toggle}
            onSelect={setSelected}
          />
        </div>
      )}
      {selected && (
        <FileViewer
          key={selected.path}
          entry={selected}
          address={snapshotFileAddress(sessionId, snapshotId, selected.path)}
          onClose={() => setSelected(null)}
        />
      )}
    </>
  );
}

function Middle({ title, words, children }: { title: string; words: string; children?: ReactNode }) {
  return (
    <div className="flex flex-1 flex-col justify-center gap-1 px-8 pb-16">
      <p className="text-15 font-semibold">{title}</p>
      <p className="text-13 text-muted">{words}</p>
      {children}
    </div>
  );
}
