"use client";

import { useState } from "react";
import type { SessionState } from "@/server/protocol/session-events.ts";
import type { FileEntry } from "@/server/protocol/sidecar.ts";
import { fileAddress } from "../session/session-api.ts";
import { LoadingLines } from "../ui/loading-lines.tsx";
import { Notice } from "../ui/notice.tsx";
import { FileTree } from "./file-tree.tsx";
import { FileViewer } from "./file-viewer.tsx";
import type { Folders } from "./folders.ts";
import { useFolders } from "./use-folders.ts";

interface FilesPanelProps {
  sessionId: string;
  /** Changes whenever files may have changed. */
  pulse: number;
  sandbox: SessionState["sandbox"]["state"];
}

export function FilesPanel({ sessionId, pulse, sandbox }: FilesPanelProps) {
  const awake = sandbox === "running";
  const { folders, open, toggle } = useFolders(sessionId, { pulse, awake });
  const [selected, setSelected] = useState<FileEntry | null>(null);
  const root = folders[""];
  const shown = selected && (findEntry(folders, selected.path) ?? selected);

  if (!root && awake) {
    return (
      <div className="p-4">
        <LoadingLines />
      </div>
    );
  }
  if (!root || root.entries.length === 0) {
    const isUnseen = !root && (sandbox === "sleeping" || sandbox === "failed");
    return (
      <div className="flex flex-1 flex-col justify-center gap-1 px-8 pb-16">
        <p className="text-15 font-semibold">{isUnseen ? "Your files are kept" : "No files yet"}</p>
        <p className="text-13 text-muted">
          {root?.problem ?? (isUnseen ? keptWords : "Files appear here when the agent makes them.")}
        </p>
      </div>
    );
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {(root.problem || !awake) && (
        <Notice tone={sandbox === "sleeping" ? "asleep" : "plain"} className="m-2">
          {awake ? root.problem : "The sandbox is not awake."} This list may be out of date.
        </Notice>
      )}
      <div className={`min-h-0 overflow-y-auto p-2 ${shown ? "max-h-[40%] shrink-0 border-b border-line" : "flex-1"}`}>
        <FileTree
          folders={folders}
          open={open}
          selected={selected?.path ?? null}
          onToggle={toggle}
          onSelect={setSelected}
        />
      </div>
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

const keptWords = "You will see them again once the sandbox is awake. It wakes when you send a message.";

function findEntry(folders: Folders, path: string): FileEntry | null {
  const folder = folders[path.split("/").slice(0, -1).join("/")];
  return folder?.entries.find((entry) => entry.path === path) ?? null;
}
