"use client";

import type { SessionState } from "@/server/protocol/session-events.ts";
import { ConfirmButton } from "../ui/confirm-button.tsx";
import { Moment } from "../ui/moment.tsx";
import type { Outcome } from "../ui/outcome.ts";

export type ContinueHere = (input: { sessionId: string }) => Promise<Outcome<void>>;

interface AwayNoticeProps {
  session: SessionState;
  away: NonNullable<SessionState["sandbox"]["away"]>;
  continueHere: ContinueHere;
}

/** The session's sandbox is on a machine that is away: what that means, and the way to go on without it. */
export function AwayNotice({ session, away, continueHere }: AwayNoticeProps) {
  const machine = away.machine ?? "another machine";
  const savedAt = session.recovery.savedAt ? new Date(session.recovery.savedAt) : null;

  return (
    <div
      role="status"
      className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-panel px-4 py-1.5 text-13 sm:px-6"
    >
      <span className="min-w-0 flex-1 basis-64">
        This session is on {machine}, which{" "}
        {away.since ? (
          <>
            has been away since <Moment at={new Date(away.since)} />
          </>
        ) : (
          "is away"
        )}
        . Messages you send wait until it is back.
      </span>
      <ConfirmButton
        look="secondary"
        title={`Continue without ${machine}?`}
        consequence={<Consequence machine={machine} savedAt={savedAt} />}
        confirmLabel="Continue here"
        confirmLook="primary"
        confirm={() => continueHere({ sessionId: session.id })}
      >
        {savedAt ? (
          <span>
            Continue here from the snapshot of <Moment at={savedAt} />
          </span>
        ) : (
          "Continue here with an empty workspace"
        )}
      </ConfirmButton>
    </div>
  );
}

function Consequence({ machine, savedAt }: { machine: string; savedAt: Date | null }) {
  return (
    <>
      {savedAt ? (
        <>
          The files come from the snapshot of <Moment at={savedAt} />. Changes made since then stay on {machine}.
        </>
      ) : (
        <>There is no snapshot of this session's files: the workspace begins empty. Its files stay on {machine}.</>
      )}{" "}
      The agent’s memory comes from its newest archive, or from the transcript. A turn that was running there ends. Your
      other sessions on {machine} continue here too. When {machine} is back, the agent there ends and its files are set
      aside.
    </>
  );
}
