"use client";

import { Ellipsis, FoldVertical, Redo2, Trash2, Undo2 } from "lucide-react";
import { useRouter } from "next/navigation";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { toast } from "sonner";
import { maxTitleLength } from "@/server/protocol/limits.ts";
import { buttonClasses } from "../ui/button.tsx";
import { ConfirmButton } from "../ui/confirm-button.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { deleteSession, renameSession, startOther } from "./session-api.ts";

interface SessionHeaderProps {
  sessionId: string;
  title: string;
  /** Between the title and what can be done. */
  mark: ReactNode;
}

export function SessionHeader({ sessionId, title, mark }: SessionHeaderProps) {
  const router = useRouter();
  const known = useRef(title);

  // The agent may name the session: the list beside the page shall say so too.
  useEffect(() => {
    if (known.current !== title) router.refresh();
    known.current = title;
  }, [title, router]);

  return (
    <header className="flex h-12 shrink-0 items-center gap-1 border-b border-line pr-2 pl-4 sm:pl-6">
      <Title sessionId={sessionId} title={title} />
      {mark}
      <TurnMenu sessionId={sessionId} />
      <ConfirmButton
        label="Delete this session"
        title="Delete this session?"
        consequence="Its transcript, files and snapshots will be deleted for good."
        confirmLabel="Delete"
        size="icon"
        confirm={() => deleteSession(sessionId)}
        onDone={() => {
          router.push("/");
          router.refresh();
        }}
      >
        <Trash2 aria-hidden="true" className="size-4 text-muted" strokeWidth={1.75} />
      </ConfirmButton>
    </header>
  );
}

/** What can be done with the conversation as a whole. The transcript shows what came of it. */
function TurnMenu({ sessionId }: { sessionId: string }) {
  async function start(kind: "compact" | "undo" | "redo") {
    const outcome = await startOther(sessionId, kind);
    if (!outcome.ok) toast.error(outcome.message);
  }
  const icon = "size-4 text-muted";
  return (
    <Menu
      trigger={
        <>
          <span className="sr-only">More actions</span>
          <Ellipsis aria-hidden="true" className={icon} strokeWidth={1.75} />
        </>
      }
      triggerClassName={buttonClasses({ look: "quiet", size: "icon" })}
    >
      <MenuItem icon={<Undo2 aria-hidden="true" className={icon} />} onClick={() => void start("undo")}>
        Undo the last turn
      </MenuItem>
      <MenuItem icon={<Redo2 aria-hidden="true" className={icon} />} onClick={() => void start("redo")}>
        Redo what was undone
      </MenuItem>
      <MenuItem icon={<FoldVertical aria-hidden="true" className={icon} />} onClick={() => void start("compact")}>
        Summarise the conversation
      </MenuItem>
    </Menu>
  );
}

function Title({ sessionId, title }: { sessionId: string; title: string }) {
  const [draft, setDraft] = useState<string | null>(null);
  const [saved, setSaved] = useState<string | null>(null);
  const router = useRouter();
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the server says replaces what was typed
  useEffect(() => setSaved(null), [title]);

  async function save() {
    const next = draft?.trim() ?? "";
    setDraft(null);
    if (!next || next === (saved ?? title)) return;
    setSaved(next);
    const outcome = await renameSession(sessionId, next);
    if (outcome.ok) return router.refresh();
    setSaved(null);
    toast.error(outcome.message);
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter") void save();
    if (event.key === "Escape") setDraft(null);
  }

  if (draft === null) {
    return (
      <h1 className="min-w-0 flex-1 text-15">
        <button
          type="button"
          aria-label={`${saved ?? title}: rename`}
          onClick={() => setDraft(saved ?? title)}
          className="-ml-1.5 max-w-full truncate rounded-control px-1.5 py-0.5 text-left transition-colors hover:bg-ink/5"
        >
          {saved ?? title}
        </button>
      </h1>
    );
  }
  return (
    <input
      // biome-ignore lint/a11y/noAutofocus: the person has just asked to write here
      autoFocus
      aria-label="Title of this session"
      value={draft}
      maxLength={maxTitleLength}
      onChange={(event) => setDraft(event.target.value)}
      onKeyDown={onKeyDown}
      onBlur={save}
      onFocus={(event) => event.target.select()}
      className="-ml-1.5 h-8 min-w-0 flex-1 rounded-control border border-control bg-raised px-1.5 text-15 font-semibold outline-none focus:border-ink"
    />
  );
}
