"use client";

import { ChevronRight, Ellipsis, File, Folder as FolderIcon, Link2, PencilLine, Trash2 } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { fileSize } from "@/server/protocol/file-size.ts";
import { shownName } from "@/server/protocol/shown-name.ts";
import type { FileEntry } from "@/server/protocol/sidecar.ts";
import { buttonClasses } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { FileName } from "./file-name.tsx";
import type { Folders } from "./folders.ts";

export type FileAction = "rename" | "delete";

interface FileTreeProps {
  folders: Folders;
  open: ReadonlySet<string>;
  selected: string | null;
  /** Gets the focus as soon as it is there. */
  focused?: string | null;
  onToggle: (path: string) => void;
  onSelect: (entry: FileEntry) => void;
  /** Where files can be changed. */
  onAct?: ((entry: FileEntry, action: FileAction) => void) | undefined;
}

export function FileTree(props: FileTreeProps) {
  return <Level {...props} path="" depth={0} />;
}

function Level({ path, depth, ...tree }: FileTreeProps & { path: string; depth: number }) {
  const folder = tree.folders.get(path);
  const inset = { paddingLeft: `${depth * 14 + 8}px` };
  if (!folder) return depth > 0 ? <Remark inset={inset}>Loading …</Remark> : null;
  return (
    <ul aria-label={path === "" ? "Files" : shownName(path)} className="flex flex-col">
      {folder.entries.map((entry) => (
        <li key={entry.path}>
          <Row entry={entry} inset={inset} {...tree} />
          {entry.kind === "directory" && tree.open.has(entry.path) && (
            <Level {...tree} path={entry.path} depth={depth + 1} />
          )}
        </li>
      ))}
      {depth > 0 && folder.entries.length === 0 && !folder.problem && <Remark inset={inset}>Empty</Remark>}
      {depth > 0 && folder.problem && <Remark inset={inset}>{folder.problem}</Remark>}
      {folder.truncated && <Remark inset={inset}>Not all files are shown: there are too many.</Remark>}
    </ul>
  );
}

function Row({
  entry,
  inset,
  open,
  selected,
  focused,
  onToggle,
  onSelect,
  onAct,
}: FileTreeProps & { entry: FileEntry; inset: object }) {
  const isFolder = entry.kind === "directory";
  const isOpen = isFolder && open.has(entry.path);
  const Icon = isFolder ? FolderIcon : entry.kind === "link" ? Link2 : File;
  const button = useRef<HTMLButtonElement>(null);
  const isFocused = focused === entry.path;
  useEffect(() => {
    if (isFocused) button.current?.focus();
  }, [isFocused]);

  function onKeyDown(event: KeyboardEvent) {
    const action = event.key === "F2" ? "rename" : event.key === "Delete" ? "delete" : null;
    if (!action || !onAct) return;
    event.preventDefault();
    onAct(entry, action);
  }

  return (
    <div className="group flex items-center rounded-control transition-colors hover:bg-ink/5 has-[[aria-current]]:bg-raised">
      <button
        ref={button}
        type="button"
        aria-expanded={isFolder ? isOpen : undefined}
        aria-current={selected === entry.path ? "true" : undefined}
        aria-keyshortcuts={onAct && "F2 Delete"}
        onClick={() => (isFolder ? onToggle(entry.path) : onSelect(entry))}
        onKeyDown={onKeyDown}
        style={inset}
        className="flex h-7 min-w-0 flex-1 items-center gap-1.5 rounded-control pr-2 text-left text-13 pointer-coarse:h-10"
      >
        <ChevronRight
          aria-hidden="true"
          strokeWidth={1.75}
          className={classNames(
            "size-3.5 shrink-0 text-muted transition-transform",
            isOpen && "rotate-90",
            !isFolder && "invisible",
          )}
        />
        <Icon aria-hidden="true" className="size-3.5 shrink-0 text-muted" strokeWidth={1.75} />
        <span className="min-w-0 flex-1 truncate whitespace-pre font-mono text-12">
          <FileName name={entry.name} />
        </span>
        {!isFolder && (
          <span className="shrink-0 font-mono text-12 text-muted tabular-nums">{fileSize(entry.size)}</span>
        )}
      </button>
      {onAct && <Actions entry={entry} onAct={onAct} />}
    </div>
  );
}

function Actions({ entry, onAct }: { entry: FileEntry; onAct: (entry: FileEntry, action: FileAction) => void }) {
  const icon = "size-4 text-muted";
  return (
    <Menu
      trigger={
        <>
          <span className="sr-only">{`Actions for ${shownName(entry.name)}`}</span>
          <Ellipsis aria-hidden="true" className="size-3.5 text-muted" strokeWidth={1.75} />
        </>
      }
      triggerClassName={classNames(
        buttonClasses({ look: "quiet", size: "small" }),
        "px-1.5 opacity-0 transition-opacity group-hover:opacity-100 group-focus-within:opacity-100",
        "data-popup-open:opacity-100 pointer-coarse:h-10 pointer-coarse:px-3 pointer-coarse:opacity-100",
      )}
    >
      <MenuItem icon={<PencilLine aria-hidden="true" className={icon} />} onClick={() => onAct(entry, "rename")}>
        Rename
      </MenuItem>
      <MenuItem icon={<Trash2 aria-hidden="true" className={icon} />} onClick={() => onAct(entry, "delete")}>
        Delete
      </MenuItem>
    </Menu>
  );
}

function Remark({ inset, children }: { inset: object; children: string }) {
  return (
    <p style={inset} className="py-1 text-12 text-muted">
      {children}
    </p>
  );
}
