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
  restored: "The files are as they were in the snapshot.",
  "at-next-wake": "The files are put back when the sandbox wakes next.",
};

const asideWords =
  "What was there before could not be saved whole, so the sandbox keeps it in managed/replaced as well.";

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
      progress={recovery.saving ? "Saving what is there now …" : "Restoring …"}
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
    if (outcome.ok) toast.success("The files stay as they are.");
    else toast.error(outcome.message);
    onWithdrawn();
    return outcome;
  }

  return (
    <Button size="small" look="quiet" className="pointer-coarse:h-10" pending={pending} onClick={() => run(withdraw)}>
      Don’t restore
    </Button>
  );
}

/** Exactly what happens. Within a paragraph, hence no paragraphs of its own. */
function Consequence({ at, awake, newest }: { at: string; awake: boolean; newest: string | null }) {
  return (
    <span className="flex flex-col gap-2">
      <span>
        All files of this session become what they were in the snapshot of <Moment at={new Date(at)} />
        {awake ? "." : ", as soon as the sandbox wakes."}
      </span>
      {awake ? (
        <span>
          A snapshot of what is there now is taken first, so that you can go back. If that fails, nothing changes.
        </span>
      ) : (
        <span>
          {newest && newest !== at ? (
            <>
              You can go back to the newest snapshot, of <Moment at={new Date(newest)} />.{" "}
            </>
          ) : null}
          What was changed after the newest snapshot is in none.
        </span>
      )}
      <span>
        Folders that can be made again, like <code className="font-mono text-12">node_modules</code>, are in no
        snapshot. The conversation stays as it is.
      </span>
    </span>
  );
}
