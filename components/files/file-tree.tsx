"use client";

import { ChevronRight, File, Folder as FolderIcon, Link2 } from "lucide-react";
import { fileSize } from "@/server/protocol/file-size.ts";
import type { FileEntry } from "@/server/protocol/sidecar.ts";
import { classNames } from "../ui/class-names.ts";
import type { Folders } from "./folders.ts";

interface FileTreeProps {
  folders: Folders;
  open: ReadonlySet<string>;
  selected: string | null;
  onToggle: (path: string) => void;
  onSelect: (entry: FileEntry) => void;
}

export function FileTree(props: FileTreeProps) {
  return <Level {...props} path="" depth={0} />;
}

function Level({ path, depth, ...tree }: FileTreeProps & { path: string; depth: number }) {
  const folder = Object.hasOwn(tree.folders, path) ? tree.folders[path] : undefined;
  const inset = { paddingLeft: `${depth * 14 + 8}px` };
  if (!folder) return depth > 0 ? <Remark inset={inset}>Loading …</Remark> : null;
  return (
    <ul aria-label={path === "" ? "Files" : path} className="flex flex-col">
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
  onToggle,
  onSelect,
}: FileTreeProps & { entry: FileEntry; inset: object }) {
  const isFolder = entry.kind === "directory";
  const isOpen = isFolder && open.has(entry.path);
  const Icon = isFolder ? FolderIcon : entry.kind === "link" ? Link2 : File;
  return (
    <button
      type="button"
      aria-expanded={isFolder ? isOpen : undefined}
      aria-current={selected === entry.path ? "true" : undefined}
      onClick={() => (isFolder ? onToggle(entry.path) : onSelect(entry))}
      style={inset}
      className="flex h-7 w-full items-center gap-1.5 rounded-control pr-2 text-left text-13 transition-colors hover:bg-ink/5 aria-[current]:bg-raised pointer-coarse:h-10"
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
      <span className="min-w-0 flex-1 truncate font-mono text-12">{entry.name}</span>
      {!isFolder && <span className="shrink-0 font-mono text-12 text-muted tabular-nums">{fileSize(entry.size)}</span>}
    </button>
  );
}

function Remark({ inset, children }: { inset: object; children: string }) {
  return (
    <p style={inset} className="py-1 text-12 text-muted">
      {children}
    </p>
  );
}
