"use client";

import { toast } from "sonner";
import type { RecoveryPoint } from "@/server/protocol/session-events.ts";
import type { Snapshot, SnapshotRestored } from "@/server/protocol/snapshots.ts";
import { restoreSnapshot, withdrawRestore } from "../session/session-api.ts";
import { Button } from "../ui/button.tsx";
import { ConfirmButton } from "../ui/confirm-button.tsx";
import { Moment } from "../ui/moment.tsx";
import { useOutcome } from "../ui/use-outcome.ts";

const doneWords: Record<SnapshotRestored["outcome"], string> = {
  restored: "Snapshot restored. The files are back as they were.",
  "at-next-wake": "The files will be restored when the sandbox next wakes.",
};

const asideWords =
  "The previous files could not be saved completely, so the sandbox also keeps them in managed/replaced.";

interface RestoreButtonProps {
  sessionId: string;
  snapshot: Snapshot;
  awake: boolean;
  recovery: RecoveryPoint;
  onRestored: () => void;
}

export function RestoreButton({ sessionId, snapshot, awake, recovery, onRestored }: RestoreButtonProps) {
  if (snapshot.restoreRequested && !awake) {
    return <WithdrawButton sessionId={sessionId} snapshotId={snapshot.id} onWithdrawn={onRestored} />;
  }
  return (
    <ConfirmButton
      label="Restore"
      title="Restore this snapshot?"
      consequence={<Consequence at={snapshot.createdAt} awake={awake} newest={recovery.savedAt} />}
      confirmLabel="Restore"
      confirmLook="primary"
      className="pointer-coarse:h-10"
      confirm={() => restoreSnapshot(sessionId, snapshot.id)}
      progress={recovery.saving ? "Saving the current files …" : "Restoring …"}
      failureTitle="The snapshot was not restored"
      onDone={({ outcome, setAside }) => {
        toast.success(doneWords[outcome], setAside ? { description: asideWords } : {});
        onRestored();
      }}
    />
  );
}

/** While the sandbox sleeps nothing has happened yet, so nothing has to be confirmed. */
function WithdrawButton(props: { sessionId: string; snapshotId: string; onWithdrawn: () => void }) {
  const { sessionId, snapshotId, onWithdrawn } = props;
  const { pending, run } = useOutcome();

  async function withdraw() {
    const outcome = await withdrawRestore(sessionId, snapshotId);
    if (outcome.ok) toast.success("Restore cancelled. The files stay as they are.");
    else toast.error(outcome.message);
    onWithdrawn();
    return outcome;
  }

  return (
    <Button size="small" look="quiet" className="pointer-coarse:h-10" pending={pending} onClick={() => run(withdraw)}>
      Cancel restore
    </Button>
  );
}

/** Exactly what happens. Within a paragraph, hence no paragraphs of its own. */
function Consequence({ at, awake, newest }: { at: string; awake: boolean; newest: string | null }) {
  return (
    <span className="flex flex-col gap-2">
      <span>
        {awake ? "All" : "When the sandbox wakes, all"} files of this session will be replaced with those in the
        snapshot from <Moment at={new Date(at)} />.
      </span>
      {awake ? (
        <span>
          The current files are saved in a snapshot first, so you can go back. If that fails, nothing changes.
        </span>
      ) : (
        <span>
          Changes made after <Moment at={new Date(newest ?? at)} /> are in no snapshot yet. They are saved first if the
          sandbox’s disk still has them when it wakes; otherwise they are lost.
        </span>
      )}
      <span>
        Folders that can be regenerated, like <code className="font-mono text-12">node_modules</code>, are never in a
        snapshot. The conversation does not change.
      </span>
    </span>
  );
}
