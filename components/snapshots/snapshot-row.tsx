"use client";

import { ChevronRight, Download } from "lucide-react";
import type { ReactNode } from "react";
import type { Snapshot } from "@/server/protocol/snapshots.ts";
import { snapshotAddress } from "../session/session-api.ts";
import { buttonClasses } from "../ui/button.tsx";
import { Moment } from "../ui/moment.tsx";
import { Notice } from "../ui/notice.tsx";
import { Spinner } from "../ui/spinner.tsx";
import { Time } from "../ui/time.tsx";
import { toSnapshotWords } from "./snapshot-words.ts";

interface SnapshotRowProps {
  sessionId: string;
  snapshot: Snapshot;
  awake: boolean;
  restore: ReactNode;
  /** It was looked into last: who uses a keyboard goes on from here. */
  wasOpen: boolean;
  onOpen: () => void;
}

export function SnapshotRow({ sessionId, snapshot, awake, restore, wasOpen, onOpen }: SnapshotRowProps) {
  const at = new Date(snapshot.createdAt);
  if (snapshot.state === "failed") return <FailedRow snapshot={snapshot} awake={awake} />;
  if (snapshot.state === "writing") {
    return (
      <li className="flex items-center gap-2 border-b border-line px-4 py-2.5 text-13 text-muted">
        <Spinner className="size-3.5" /> Taking a snapshot …
      </li>
    );
  }
  return (
    <li className="flex items-center gap-1 border-b border-line pr-2">
      <button
        type="button"
        // biome-ignore lint/a11y/noAutofocus: only after the person came back from it
        autoFocus={wasOpen}
        onClick={onOpen}
        className="group flex min-w-0 flex-1 items-center gap-2 py-2.5 pl-3 text-left text-13 transition-colors hover:bg-ink/4 focus-visible:-outline-offset-2"
      >
        <ChevronRight aria-hidden="true" className="size-3.5 shrink-0 text-muted" strokeWidth={1.75} />
        <span className="min-w-0 flex-1">
          <span className="block font-medium">
            <span className="sr-only">Open the snapshot from </span>
            <Moment at={at} />
          </span>
          <span className="block truncate text-12 text-muted">
            <Time at={at} justNow="just now" /> · {toSnapshotWords(snapshot)}
          </span>
        </span>
      </button>
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
    </li>
  );
}

function FailedRow({ snapshot, awake }: { snapshot: Snapshot; awake: boolean }) {
  return (
    <li className="border-b border-line p-3">
      <Notice
        tone="danger"
        title={
          <>
            Snapshot failed on <Moment at={new Date(snapshot.createdAt)} />
          </>
        }
      >
        <p>{snapshot.cause}</p>
        {awake && <p className="pt-1">The sandbox stays awake until its files are saved.</p>}
      </Notice>
    </li>
  );
}
