"use client";

import { Download } from "lucide-react";
import type { Snapshot } from "@/server/protocol/snapshots.ts";
import { restoreSnapshot, snapshotAddress } from "../session/session-api.ts";
import { fileSize } from "../session/transcript/wording.ts";
import { buttonClasses } from "../ui/button.tsx";
import { ConfirmButton } from "../ui/confirm-button.tsx";
import { Time } from "../ui/time.tsx";

interface SnapshotRowProps {
  sessionId: string;
  snapshot: Snapshot;
  awake: boolean;
  onRestored: () => void;
}

export function SnapshotRow({ sessionId, snapshot, awake, onRestored }: SnapshotRowProps) {
  return (
    <li className="flex items-center gap-2 border-b border-line py-2.5 pr-2 pl-4">
      <div className="min-w-0 flex-1 text-13">
        <Time at={new Date(snapshot.createdAt)} className="font-medium" />
        <p className={snapshot.state === "failed" ? "text-danger [overflow-wrap:anywhere]" : "text-muted"}>
          {inWords(snapshot)}
        </p>
      </div>
      {snapshot.state === "verified" && (
        <>
          <ConfirmButton
            label="Restore"
            title="Restore this snapshot?"
            consequence={awake ? nowWords : laterWords}
            confirmLabel="Restore"
            confirm={() => restoreSnapshot(sessionId, snapshot.id)}
            onDone={onRestored}
          />
          <a
            href={snapshotAddress(sessionId, snapshot.id)}
            download
            aria-label="Download this snapshot"
            className={buttonClasses({ look: "quiet", size: "icon" })}
          >
            <Download aria-hidden="true" className="size-4 text-muted" strokeWidth={1.75} />
          </a>
        </>
      )}
    </li>
  );
}

const nowWords =
  "The session’s files become what they were then. A snapshot of the present files is taken before, and the conversation stays.";
const laterWords =
  "The session’s files become what they were then as soon as the sandbox wakes. The conversation stays.";

function inWords({ state, bytes, contents, cause, restoreRequested }: Snapshot): string {
  if (state === "writing") return "Being taken";
  if (state === "failed") return cause ?? "Failed";
  const size = bytes === null ? null : fileSize(bytes);
  const entries = contents && `${contents.entries} ${contents.entries === 1 ? "entry" : "entries"}`;
  const leftOut = contents && contents.leftOut > 0 ? `${contents.leftOut} left out` : null;
  const waiting = restoreRequested ? "restored at the next wake" : null;
  return [size, entries, leftOut, waiting].filter((part) => part !== null).join(" · ");
}
