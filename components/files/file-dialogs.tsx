"use client";

import { shownName } from "@/server/protocol/shown-name.ts";
import type { FileEntry } from "@/server/protocol/sidecar.ts";
import { deleteFile } from "../session/session-api.ts";
import { ConfirmDialog } from "../ui/confirm-button.tsx";
import { FileName } from "./file-name.tsx";
import type { FileAction } from "./file-tree.tsx";
import { RenameDialog } from "./rename-dialog.tsx";

interface FileDialogsProps {
  sessionId: string;
  asked: { entry: FileEntry; action: FileAction };
  onClose: () => void;
  onRenamed: (path: string) => void;
  onDeleted: () => void;
}

/** What a person asked to do with a file or folder. */
export function FileDialogs({ sessionId, asked, onClose, onRenamed, onDeleted }: FileDialogsProps) {
  const { entry, action } = asked;
  if (action === "rename") return <RenameDialog {...{ sessionId, entry, onClose, onRenamed }} />;
  const isFolder = entry.kind === "directory";
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => open || onClose()}
      title={isFolder ? "Delete this folder?" : "Delete this file?"}
      consequence={
        <>
          <span className="whitespace-pre-wrap font-mono text-12 text-ink [overflow-wrap:anywhere]">
            <FileName name={entry.name} />
          </span>
          {isFolder ? " and all that is in it" : ""} will be deleted from the session. Snapshots keep what they have.
        </>
      }
      confirmLabel="Delete"
      confirm={() => deleteFile(sessionId, entry.path)}
      progress="Deleting …"
      failureTitle={`${shownName(entry.name)} was not deleted`}
      onDone={onDeleted}
      movesFocus
    />
  );
}
