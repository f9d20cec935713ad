"use client";

import { Hourglass, Square } from "lucide-react";
import { useEffect, useState } from "react";
import type { LogEntryOf } from "@/server/protocol/log-entry.ts";
import { Button } from "../../ui/button.tsx";
import { FailureNotice } from "../../ui/form.tsx";
import { Notice } from "../../ui/notice.tsx";
import { useOutcome } from "../../ui/use-outcome.ts";
import { stopTurn, tryTurnNow } from "../session-api.ts";
import { duration } from "./wording.ts";

/** The message could not be handed to the agent yet: why, when that is tried again, and what one can do. */
export function Waiting({ entry, sessionId }: { entry: LogEntryOf<"sandbox-phase">; sessionId: string }) {
  const { message, code, nextTryAt, tries = 1 } = entry.body;
  const what = code === "wake-failed" ? "The sandbox does not start." : "The agent cannot be reached.";
  if (!entry.open) {
    return (
      <p className="flex gap-2 text-13 text-muted">
        <Hourglass aria-hidden="true" className="mt-0.5 size-3.5 shrink-0" strokeWidth={1.75} />
        <span className="min-w-0 [overflow-wrap:anywhere]">
          Waited after {tries === 1 ? "a failed attempt" : `${tries} failed attempts`}: {message}
        </span>
      </p>
    );
  }
  return (
    <Notice title={what}>
      <p>{message}</p>
      <p className="text-muted">
        <Countdown at={Date.parse(nextTryAt ?? entry.at)} /> Your message is kept.
      </p>
      <Actions sessionId={sessionId} nextTryAt={nextTryAt} />
    </Notice>
  );
}

function Actions({ sessionId, nextTryAt }: { sessionId: string; nextTryAt: string | undefined }) {
  const trying = useOutcome();
  const stopping = useOutcome();
  // The try that was asked for is under way until the next one is announced.
  const [asked, setAsked] = useState<string | undefined>();
  const isTrying = trying.pending || (asked !== undefined && asked === nextTryAt);
  const failure = trying.failure ?? stopping.failure;
  return (
    <div className="mt-2.5 flex flex-col gap-2.5">
      <div className="flex flex-wrap gap-2">
        <Button
          size="small"
          className="pointer-coarse:h-10"
          pending={isTrying}
          onClick={() =>
            trying.run(
              () => tryTurnNow(sessionId),
              ({ trying: began }) => began && setAsked(nextTryAt),
            )
          }
        >
          Try now
        </Button>
        <Button
          size="small"
          look="quiet"
          className="pointer-coarse:h-10"
          pending={stopping.pending}
          onClick={() => stopping.run(() => stopTurn(sessionId))}
        >
          <Square aria-hidden="true" className="size-3 fill-current" />
          Stop
        </Button>
      </div>
      {failure && <FailureNotice failure={failure} />}
    </div>
  );
}

/** Nothing to count before the browser's clock is known. */
function Countdown({ at }: { at: number }) {
  const [now, setNow] = useState<number | null>(null);

  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);

  if (now === null) return "Trying again in a moment.";
  const left = Math.ceil((at - now) / 1000);
  return left > 0 ? `Trying again in ${duration(left * 1000)}.` : "Trying again now …";
}
