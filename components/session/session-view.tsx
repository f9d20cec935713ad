"use client";

import "./session.css";
import { type ReactNode, useMemo, useState } from "react";
import type { RecoveryPoint, SessionState } from "@/server/protocol/session-events.ts";
import type { ViewerState } from "@/server/protocol/viewer-state.ts";
import { ChangesPanel } from "../files/changes-panel.tsx";
import { FilesPanel } from "../files/files-panel.tsx";
import { RecoveryMark } from "../snapshots/recovery-mark.tsx";
import { SnapshotsPanel } from "../snapshots/snapshots-panel.tsx";
import { classNames } from "../ui/class-names.ts";
import { AwayNotice, type ContinueHere } from "./away-notice.tsx";
import { BurrowLine } from "./burrow-line.tsx";
import { isAwake, toBurrow } from "./burrow-state.ts";
import { Composer } from "./composer/composer.tsx";
import { QueueList } from "./composer/queue-list.tsx";
import { createTypingWake } from "./composer/typing-wake.ts";
import { useOutbox } from "./composer/use-outbox.ts";
import { ConnectionNotice } from "./connection-notice.tsx";
import { useSessionState } from "./event-connection.ts";
import { MemoryStatus } from "./memory-status.tsx";
import { SessionHeader } from "./session-header.tsx";
import { Column, Transcript } from "./transcript/transcript.tsx";

const views = { talk: "Transcript", files: "Files", changes: "Changes", snapshots: "Snapshots" } as const;
type View = keyof typeof views;
const noSandbox: SessionState["sandbox"] = { state: "none", cause: null, away: null };
const unknownRecovery: RecoveryPoint = { savedAt: null, saving: false, problem: null, restoring: false };
const none: never[] = [];
const panels: View[] = ["files", "changes", "snapshots"];

interface SessionViewProps {
  sessionId: string;
  title: string;
  initial: ViewerState;
  /** Below the composer: what answers, where that needs a word. */
  remark: ReactNode;
  continueHere: ContinueHere;
  wakeAhead: WakeAhead;
}

type WakeAhead = (input: { sessionId: string }) => Promise<unknown>;

/** Three columns where there is room; below that, one at a time. */
export function SessionView({ sessionId, title, initial, remark, continueHere, wakeAhead }: SessionViewProps) {
  const state = useSessionState(sessionId, initial);
  const [view, setView] = useState<View>("talk");
  const { isAsleep } = toBurrow(state.session, state.entries);
  const pulse = useMemo(() => state.entries.filter(isDone).length, [state.entries]);
  const panel = view === "talk" ? "files" : view;
  const sandbox = state.session?.sandbox ?? noSandbox;
  const recovery = state.session?.recovery ?? unknownRecovery;

  return (
    <div
      data-asleep={isAsleep || undefined}
      className="session-page flex h-[calc(100dvh-3rem)] min-h-0 flex-none flex-col lg:h-dvh"
    >
      <SessionHeader
        sessionId={sessionId}
        title={state.session?.title ?? title}
        mark={
          (state.entries.length > 0 || recovery.savedAt) && (
            <RecoveryMark recovery={recovery} sandbox={sandbox.state} onOpen={() => setView("snapshots")} />
          )
        }
      />
      <ConnectionNotice />
      {state.session && sandbox.away && (
        <AwayNotice session={state.session} away={sandbox.away} continueHere={continueHere} />
      )}
      <Switch className="xl:hidden" shown={["talk", ...panels]} current={view} onChange={setView} />
      <div className="flex min-h-0 flex-1">
        <div className={classNames("min-w-0 flex-1 flex-col xl:flex", view === "talk" ? "flex" : "hidden")}>
          <Conversation {...{ sessionId, state, remark, wakeAhead }} />
        </div>
        <aside
          aria-label="Files and changes"
          className={classNames(
            "min-w-0 flex-1 flex-col bg-panel xl:flex xl:w-110 xl:flex-none xl:border-l xl:border-line",
            view === "talk" ? "hidden" : "flex",
          )}
        >
          <Switch className="hidden xl:flex" shown={panels} current={panel} onChange={setView} />
          {panel === "files" && <FilesPanel sessionId={sessionId} pulse={pulse} sandbox={sandbox} />}
          {panel === "changes" && <ChangesPanel entries={state.entries} />}
          {panel === "snapshots" && (
            <SnapshotsPanel sessionId={sessionId} awake={isAwake(sandbox)} recovery={recovery} />
          )}
        </aside>
      </div>
    </div>
  );
}

function Conversation(props: { sessionId: string; state: ViewerState; remark: ReactNode; wakeAhead: WakeAhead }) {
  const { sessionId, state, remark, wakeAhead } = props;
  const outbox = useOutbox(sessionId, state);
  const [returned, setReturned] = useState<{ text: string } | null>(null);
  const { session, entries } = state;
  // Quietly: a message that is sent later says what keeps it from the agent.
  const typed = useMemo(
    () => createTypingWake(() => void wakeAhead({ sessionId }).catch(() => {})),
    [sessionId, wakeAhead],
  );
  const burrow = toBurrow(session, entries);
  const running = session?.runningTurnId ?? null;
  const first = outbox.items.find((item) => item.problem === null);
  // Sent to an agent that is free, a prompt stands at once where it will stand; else it waits in the queue.
  const waiting = !running && session?.queue.length === 0 && first ? first : null;
  const last = entries.at(-1);

  return (
    <>
      <Transcript
        sessionId={sessionId}
        entries={entries}
        waiting={waiting?.text ?? null}
        working={running !== null && !(last?.open ?? false) && last?.kind !== "sandbox-phase" && !isWaiting(last)}
        empty={<Welcome />}
      />
      <div className="shrink-0 pb-[max(1rem,env(safe-area-inset-bottom))]">
        <Column>
          <div className="flex flex-col gap-3">
            <BurrowLine state={burrow.line} />
            <QueueList
              sessionId={sessionId}
              queue={session?.queue ?? none}
              rest={session?.queueRest ?? none}
              running={running !== null}
              outbox={outbox.items.filter((item) => item !== waiting)}
              onRetry={outbox.retry}
              onTakeBack={(key) => setReturned({ text: outbox.takeBack(key) })}
            />
            <Composer
              sessionId={sessionId}
              running={running !== null}
              stopRequested={session?.stopRequested ?? false}
              returned={returned}
              onSend={outbox.send}
              onType={(text) => typed(text, session?.sandbox ?? null)}
              status={
                <p className="truncate">
                  <span aria-live="polite">{burrow.words}</span>
                  {session && entries.length > 0 && (
                    <>
                      {" · "}
                      <MemoryStatus session={session} />
                    </>
                  )}
                </p>
              }
            />
            {remark}
          </div>
        </Column>
      </div>
    </>
  );
}

function Welcome() {
  return (
    <Column>
      <p className="text-20 font-semibold">What shall we make?</p>
      <p className="text-15 text-muted">
        Describe it in your own words. The agent works in a sandbox with its own files, and you can watch what it does
        here.
      </p>
    </Column>
  );
}

function Switch(props: { className: string; shown: View[]; current: View; onChange: (view: View) => void }) {
  return (
    <nav
      aria-label="Parts of the session"
      className={classNames("flex h-10 shrink-0 gap-5 border-b border-line px-4", props.className)}
    >
      {props.shown.map((view) => (
        <button
          key={view}
          type="button"
          aria-pressed={props.current === view}
          onClick={() => props.onChange(view)}
          className="-mb-px flex items-center border-b-2 border-transparent text-13 font-medium text-muted transition-colors hover:text-ink focus-visible:-outline-offset-2 aria-pressed:border-ink aria-pressed:text-ink"
        >
          {views[view]}
        </button>
      ))}
    </nav>
  );
}

function isDone(entry: ViewerState["entries"][number]): boolean {
  return entry.kind === "turn-end" || (entry.kind === "tool_call" && entry.body.status === "completed");
}

/** What shows by itself that something goes on, or that the agent waits for the person. */
function isWaiting(entry: ViewerState["entries"][number] | undefined): boolean {
  if (entry?.kind === "ask") return entry.body.state === "pending";
  return entry?.kind === "tool_call" && (entry.body.status === "pending" || entry.body.status === "in_progress");
}
