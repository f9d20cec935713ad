"use client";

import { CircleAlert, CircleCheck, CircleDashed, History } from "lucide-react";
import type { RecoveryPoint, SessionState } from "@/server/protocol/session-events.ts";
import { classNames } from "../ui/class-names.ts";
import { Spinner } from "../ui/spinner.tsx";
import { Time } from "../ui/time.tsx";
import { type RecoveryLook, toRecoveryWords } from "./recovery-words.ts";

const looks: Record<RecoveryLook, { icon: typeof CircleCheck; tint: string; help: string }> = {
  saving: { icon: CircleDashed, tint: "text-muted", help: "A snapshot of the session’s files is being taken." },
  failed: { icon: CircleAlert, tint: "text-danger", help: "The session’s files could not be saved." },
  restoring: { icon: History, tint: "text-asleep", help: "The session’s files are restored from a snapshot." },
  saved: { icon: CircleCheck, tint: "text-ok", help: "The session’s files were last saved at this time." },
  unsaved: { icon: CircleDashed, tint: "text-muted", help: "There is no snapshot of the session’s files yet." },
};

interface RecoveryMarkProps {
  recovery: RecoveryPoint;
  sandbox: SessionState["sandbox"]["state"];
  onOpen: () => void;
}

/** When the session's files were last safe. Its width is that of its longest usual words, so that nothing jumps. */
export function RecoveryMark({ recovery, sandbox, onOpen }: RecoveryMarkProps) {
  const { look, lead, short, at, cause } = toRecoveryWords(recovery, sandbox);
  const { icon: Icon, tint, help } = looks[look];
  const isFailed = look === "failed";

  return (
    <>
      <button
        type="button"
        onClick={onOpen}
        title={cause ?? help}
        className={classNames(
          "flex h-8 min-w-26 shrink-0 items-center gap-1.5 rounded-control px-2 text-12 whitespace-nowrap tabular-nums",
          "transition-colors hover:bg-ink/5 sm:min-w-36 pointer-coarse:h-10",
          isFailed ? "text-danger" : "text-muted",
        )}
      >
        {look === "saving" ? (
          <Spinner className="size-3.5" />
        ) : (
          <Icon aria-hidden="true" className={classNames("size-3.5 shrink-0", tint)} strokeWidth={1.75} />
        )}
        <span className="max-w-96 truncate">
          {lead && <span className="max-sm:sr-only">{lead} </span>}
          {short}
          {at && <Time at={new Date(at)} justNow="just now" />}
          {cause && <span className="max-md:sr-only"> · {cause}</span>}
        </span>
        <span className="sr-only">, show snapshots</span>
      </button>
      {/* Only a failure is worth interrupting for. */}
      <span role="status" className="sr-only">
        {isFailed && `The session’s files could not be saved. ${cause}`}
      </span>
    </>
  );
}
