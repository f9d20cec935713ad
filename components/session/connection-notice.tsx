"use client";

import { maxFollowedSessions } from "@/server/protocol/limits.ts";
import { useLate } from "../ui/use-late.ts";
import { useConnectionStatus } from "./event-connection.ts";
import { Elapsed } from "./transcript/elapsed.tsx";

const patience = 1500;

/** A short break is nobody's business; a longer one is said, with what it means. */
export function ConnectionNotice() {
  const status = useConnectionStatus();
  const isLate = useLate(status.state !== "live", patience);

  if (!isLate) return null;
  return (
    <div
      role="status"
      className="flex min-h-9 shrink-0 items-center gap-2 border-b border-line bg-removed px-4 py-1.5 text-13 sm:px-6"
    >
      <span aria-hidden="true" className="size-2 shrink-0 rounded-full bg-danger" />
      <span className="min-w-0 flex-1">
        {status.state === "signed-out" ? (
          <>
            You are signed out.{" "}
            <a
              className="underline underline-offset-2"
              href={`/sign-in?next=${encodeURIComponent(window.location.pathname)}`}
            >
              Sign in again
            </a>
          </>
        ) : status.state === "crowded" ? (
          `This page is not updated: ${maxFollowedSessions} other sessions are open in this browser, and no more can be followed at once. Close some of their tabs, or reload this page to follow it instead of another.`
        ) : status.state === "connecting" ? (
          "Connecting to the server …"
        ) : (
          "Connection lost. Reconnecting … The agent keeps working, and you will not miss anything."
        )}
      </span>
      {status.state === "lost" && <Elapsed from={status.since} to={null} />}
    </div>
  );
}
