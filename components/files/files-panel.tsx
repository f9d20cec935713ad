"use client";

import { useState } from "react";
import type { SessionState } from "@/server/protocol/session-events.ts";
import type { FileEntry } from "@/server/protocol/sidecar.ts";
import { isAwake } from "../session/burrow-state.ts";
import { fileAddress } from "../session/session-api.ts";
import { LoadingLines } from "../ui/loading-lines.tsx";
import { Notice } from "../ui/notice.tsx";
import { FileDialogs } from "./file-dialogs.tsx";
import { type FileAction, FileTree } from "./file-tree.tsx";
import { FileViewer } from "./file-viewer.tsx";
import { type Folders, parentOf } from "./folders.ts";
import { useFolders } from "./use-folders.ts";

interface FilesPanelProps {
  sessionId: string;
  /** Changes whenever files may have changed. */
  pulse: number;
  sandbox: SessionState["sandbox"];
}

export function FilesPanel({ sessionId, pulse, sandbox }: FilesPanelProps) {
  const awake = isAwake(sandbox);
  const { folders, open, toggle, reload } = useFolders(sessionId, { pulse, awake });
  const [selected, setSelected] = useState<FileEntry | null>(null);
  const [asked, setAsked] = useState<{ entry: FileEntry; action: FileAction } | null>(null);
  const [focused, setFocused] = useState<string | null>(null);
  const root = folders.get("");
  const shown = selected && (findEntry(folders, selected.path) ?? selected);

  function ask(entry: FileEntry, action: FileAction) {
    setFocused(null);
    setAsked({ entry, action });
  }

  function onRenamed({ path, ...entry }: FileEntry, newPath: string) {
    setAsked(null);
    setFocused(newPath);
    if (selected?.path === path) setSelected({ ...entry, path: newPath, name: newPath.split("/").at(-1) ?? newPath });
    else if (selected?.path.startsWith(`${path}/`)) setSelected(null);
    reload(parentOf(path));
  }

  function onDeleted({ path }: FileEntry) {
    setAsked(null);
    setFocused(neighbourOf(folders, path));
    if (selected?.path === path || selected?.path.startsWith(`${path}/`)) setSelected(null);
    reload(parentOf(path));
  }

  if (!root && awake) {
    return (
      <div className="p-4">
        <LoadingLines />
      </div>
    );
  }
  if (!root || root.entries.length === 0) {
    const kept = root ? null : keptWords(sandbox);
    return (
      <div className="flex flex-1 flex-col justify-center gap-1 px-8 pb-16">
        <p className="text-15 font-semibold">{kept ? "Your files are kept" : "No files yet"}</p>
        <p className="text-13 text-muted">{root?.problem ?? kept ?? "Files appear here when the agent makes them."}</p>
      </div>
    );
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {(root.problem || !awake) && (
        <Notice tone={sandbox.state === "sleeping" && !sandbox.away ? "asleep" : "plain"} className="m-2">
          {awake
            ? root.problem
            : sandbox.away
              ? `${sandbox.away.machine ?? "Their machine"} is away.`
              : "The sandbox is not awake."}{" "}
          This list may be out of date.
        </Notice>
      )}
      <div className={`min-h-0 overflow-y-auto p-2 ${shown ? "max-h-[40%] shrink-0 border-b border-line" : "flex-1"}`}>
        <FileTree
          folders={folders}
          open={open}
          selected={selected?.path ?? null}
          focused={focused}
          onToggle={toggle}
          onSelect={setSelected}
          onAct={awake ? ask : undefined}
        />
      </div>
      {asked && (
        <FileDialogs
          sessionId={sessionId}
          asked={asked}
          onClose={() => setAsked(null)}
          onRenamed={(path) => onRenamed(asked.entry, path)}
          onDeleted={() => onDeleted(asked.entry)}
        />
      )}
      {shown && (
        <FileViewer
          key={shown.path}
          entry={shown}
          address={fileAddress(sessionId, shown.path)}
          onClose={() => setSelected(null)}
        />
      )}
    </div>
  );
}

/** Why they are not shown; null where there need not be any. */
function keptWords({ state, away }: SessionState["sandbox"]): string | null {
  if (away) return `They are on ${away.machine ?? "another machine"}. You will see them again when it is back.`;
  const isUnseen = state === "sleeping" || state === "failed";
  return isUnseen ? "You will see them again once the sandbox is awake. It wakes when you send a message." : null;
}

function findEntry(folders: Folders, path: string): FileEntry | null {
  return folders.get(parentOf(path))?.entries.find((entry) => entry.path === path) ?? null;
}

/** Where the focus goes when this one is gone. */
function neighbourOf(folders: Folders, path: string): string | null {
  const paths = folders.get(parentOf(path))?.entries.map((entry) => entry.path) ?? [];
  const index = paths.indexOf(path);
  return paths[index + 1] ?? paths[index - 1] ?? (parentOf(path) || null);
}
