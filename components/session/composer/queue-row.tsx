"use client";

import { ArrowDown, ArrowUp, Clock, CornerDownRight, Pencil, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import type { QueuedTurn } from "@/server/protocol/session-events.ts";
import { Button } from "../../ui/button.tsx";
import type { useOutcome } from "../../ui/use-outcome.ts";
import { editQueuedTurn, moveQueuedTurn, readTurn, removeQueuedTurn, sendTurnNow } from "../session-api.ts";
import { promptProblem } from "./outbox.ts";

const words: Record<QueuedTurn["kind"], string> = {
  prompt: "",
  compact: "Summarise the conversation",
  undo: "Undo the last turn",
  redo: "Redo what was undone",
};

interface QueueRowProps {
  sessionId: string;
  turn: QueuedTurn;
  running: boolean;
  pending: boolean;
  /** What it would go before; undefined where it cannot go, null for the end. */
  before: { up: string | undefined; down: string | null | undefined };
  run: ReturnType<typeof useOutcome>["run"];
}

/** One message that waits: edited, moved, sent now or removed. Alt and an arrow key move it too. */
export function QueueRow({ sessionId, turn, running, pending, before, run }: QueueRowProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const [whole, setWhole] = useState("");
  const text = words[turn.kind] || turn.prompt;
  const isPrompt = turn.kind === "prompt";
  const move = (next: string | null | undefined) => {
    if (next !== undefined && !pending) run(() => moveQueuedTurn(sessionId, turn.id, next));
  };

  function onKeyDown(event: KeyboardEvent) {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    move(event.key === "ArrowUp" ? before.up : before.down);
  }

  function write(prompt: string) {
    setWhole(prompt);
    setDraft(prompt);
  }

  function edit() {
    if (!turn.isCut) return write(turn.prompt);
    run(
      () => readTurn(sessionId, turn.id),
      (read) => write(read.turn.prompt),
    );
  }

  function save() {
    const next = draft ?? "";
    if (promptProblem(next)) return;
    if (next === whole) return setDraft(null);
    run(
      () => editQueuedTurn(sessionId, turn.id, next),
      () => setDraft(null),
    );
  }

  if (draft !== null) {
    return (
      <li className="flex flex-col gap-2 p-2">
        <textarea
          // biome-ignore lint/a11y/noAutofocus: the person has just asked to write here
          autoFocus
          rows={Math.min(8, draft.split("\n").length + 1)}
          value={draft}
          aria-label="Queued message"
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing) return;
            if (event.key === "Escape") setDraft(null);
            if (event.key === "Enter" && !event.shiftKey) {
              event.preventDefault();
              save();
            }
          }}
          className="w-full resize-none rounded-control border border-control bg-raised px-2.5 py-1.5 text-13 outline-none focus:border-ink"
        />
        <div className="flex gap-2">
          <Button size="small" look="primary" pending={pending} disabled={promptProblem(draft) !== null} onClick={save}>
            Save
          </Button>
          <Button size="small" look="quiet" onClick={() => setDraft(null)}>
            Cancel
          </Button>
        </div>
      </li>
    );
  }

  return (
    <li onKeyDown={onKeyDown} className="flex min-h-9 flex-wrap items-center gap-x-2 pr-1 pl-3 text-13">
      <Clock aria-hidden="true" className="size-3.5 shrink-0 text-muted" strokeWidth={1.75} />
      <span className="min-w-32 flex-1 truncate">{text}</span>
      <span className="shrink-0 text-12 text-muted">{turn.sendNow ? "Sending now" : "Queued"}</span>
      <div className="ml-auto flex shrink-0">
        {isPrompt && running && !turn.sendNow && (
          <Act
            label={`Send now: ${text.slice(0, 60)}`}
            hint="Add to the running turn"
            pending={pending}
            onClick={() => run(() => sendTurnNow(sessionId, turn.id))}
          >
            <CornerDownRight aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
          </Act>
        )}
        {isPrompt && (
          <Act label={`Edit: ${text.slice(0, 60)}`} hint="Edit" pending={pending} onClick={edit}>
            <Pencil aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
          </Act>
        )}
        {before.up !== undefined && (
          <Act
            label={`Move up: ${text.slice(0, 60)}`}
            hint="Move up (Alt ↑)"
            pending={pending}
            onClick={() => move(before.up)}
          >
            <ArrowUp aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
          </Act>
        )}
        {before.down !== undefined && (
          <Act
            label={`Move down: ${text.slice(0, 60)}`}
            hint="Move down (Alt ↓)"
            pending={pending}
            onClick={() => move(before.down)}
          >
            <ArrowDown aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
          </Act>
        )}
        <Act
          label={`Remove from the queue: ${text.slice(0, 60)}`}
          hint="Remove"
          pending={pending}
          onClick={() => run(() => removeQueuedTurn(sessionId, turn.id))}
        >
          <X aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
        </Act>
      </div>
    </li>
  );
}

/** Spinners in each of them would make the row jump: they only wait. */
function Act(props: { label: string; hint: string; pending?: boolean; onClick: () => void; children: ReactNode }) {
  const { label, hint, pending = false, onClick, children } = props;
  return (
    <Button
      look="quiet"
      size="icon"
      aria-label={label}
      title={hint}
      aria-disabled={pending || undefined}
      onClick={() => {
        if (!pending) onClick();
      }}
    >
      {children}
    </Button>
  );
}
