"use client";

import { useState } from "react";
import { toast } from "sonner";
import type { RecoveryPoint } from "@/server/protocol/session-events.ts";
import type { Snapshot, SnapshotTaken } from "@/server/protocol/snapshots.ts";
import { takeSnapshot } from "../session/session-api.ts";
import { Button } from "../ui/button.tsx";
import { FailureNotice } from "../ui/form.tsx";
import { LoadingLines } from "../ui/loading-lines.tsx";
import { Moment } from "../ui/moment.tsx";
import { Notice } from "../ui/notice.tsx";
import { useOutcome } from "../ui/use-outcome.ts";
import { RestoreButton } from "./restore-button.tsx";
import { SnapshotRow } from "./snapshot-row.tsx";
import { SnapshotView } from "./snapshot-view.tsx";
import { useSnapshots } from "./use-snapshots.ts";

const words: Record<SnapshotTaken["outcome"], string> = {
  verified: "Snapshot taken.",
  unchanged: "Nothing has changed since the last snapshot.",
  empty: "There are no files to save yet.",
};

interface SnapshotsPanelProps {
  sessionId: string;
  awake: boolean;
  recovery: RecoveryPoint;
}

export function SnapshotsPanel({ sessionId, awake, recovery }: SnapshotsPanelProps) {
  const { snapshots, problem, load } = useSnapshots(sessionId, JSON.stringify(recovery));
  const { pending, failure, run } = useOutcome();
  const [opened, setOpened] = useState<Snapshot | null>(null);
  const [lastOpened, setLastOpened] = useState<string | null>(null);
  const newest = snapshots?.find(({ state }) => state === "verified");

  const restore = (snapshot: Snapshot) => (
    <RestoreButton
      sessionId={sessionId}
      snapshot={snapshot}
      awake={awake}
      recovery={recovery}
      onRestored={() => void load()}
    />
  );

  function take() {
    run(
      () => takeSnapshot(sessionId),
      ({ outcome }) => {
        if (outcome === "verified") toast.success(words[outcome]);
        else toast(words[outcome]);
        void load();
      },
    );
  }

  if (opened) {
    const snapshot = snapshots?.find(({ id }) => id === opened.id) ?? opened;
    return (
      <SnapshotView
        key={snapshot.id}
        sessionId={sessionId}
        snapshot={snapshot}
        restore={restore(snapshot)}
        onBack={() => {
          setLastOpened(snapshot.id);
          setOpened(null);
        }}
      />
    );
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
      <div className="flex items-center justify-between gap-4 border-b border-line px-4 py-2.5">
        <p className="text-13 text-muted">
          {newest ? (
            <>
              Files saved as of <Moment at={new Date(newest.createdAt)} />
            </>
          ) : (
            "Copies of this session’s files"
          )}
        </p>
        <Button
          size="small"
          pending={pending}
          disabled={!awake}
          title={awake ? undefined : "Snapshots are taken while the sandbox is awake"}
          onClick={take}
        >
          Snapshot now
        </Button>
      </div>
      {failure && (
        <div className="p-4 pb-0">
          <FailureNotice failure={failure} />
        </div>
      )}
      {problem && (
        <Notice tone="danger" className="m-4 mb-0">
          {problem}
        </Notice>
      )}
      {!snapshots && !problem && (
        <div className="p-4">
          <LoadingLines />
        </div>
      )}
      {snapshots?.length === 0 && (
        <div className="flex flex-1 flex-col justify-center gap-1 px-8 pb-16">
          <p className="text-15 font-semibold">No snapshots yet</p>
          <p className="text-13 text-muted">
            While the sandbox is awake, changed files are saved every 15 minutes. You can go back to any snapshot.
          </p>
        </div>
      )}
      <ul className="flex flex-col">
        {snapshots?.map((snapshot) => (
          <SnapshotRow
            key={snapshot.id}
            sessionId={sessionId}
            snapshot={snapshot}
            awake={awake}
            restore={restore(snapshot)}
            wasOpen={lastOpened === snapshot.id}
            onOpen={() => setOpened(snapshot)}
          />
        ))}
      </ul>
    </div>
  );
}
