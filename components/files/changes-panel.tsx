"use client";

import { ChevronRight } from "lucide-react";
import { useMemo, useState } from "react";
import type { LogEntry } from "@/server/protocol/log-entry.ts";
import { DiffView } from "../code/diff-view.tsx";
import { classNames } from "../ui/class-names.ts";
import { type FileChanges, toChanges } from "./file-changes.ts";
import { FileName } from "./file-name.tsx";

export function ChangesPanel({ entries }: { entries: readonly LogEntry[] }) {
  const changes = useMemo(() => toChanges(entries), [entries]);
  if (changes.length === 0) {
    return (
      <div className="flex flex-1 flex-col justify-center gap-1 px-8 pb-16">
        <p className="text-15 font-semibold">No changes yet</p>
        <p className="text-13 text-muted">Files that the agent writes or edits are listed here.</p>
      </div>
    );
  }
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      {changes.map((file, index) => (
        <ChangedFile key={file.path} file={file} first={index === 0} />
      ))}
    </div>
  );
}

function ChangedFile({ file, first }: { file: FileChanges; first: boolean }) {
  const [open, setOpen] = useState(first);
  return (
    <div className="border-b border-line">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex h-9 w-full items-center gap-2 px-3 text-left transition-colors hover:bg-ink/4 focus-visible:-outline-offset-2 pointer-coarse:h-11"
      >
        <ChevronRight
          aria-hidden="true"
          strokeWidth={1.75}
          className={classNames("size-3.5 shrink-0 text-muted transition-transform", open && "rotate-90")}
        />
        <span className="min-w-0 flex-1 truncate whitespace-pre font-mono text-12">
          <FileName name={file.path} />
        </span>
        <span className="shrink-0 font-mono text-12 tabular-nums">
          <span className="text-ok">+{file.added}</span> <span className="text-danger">−{file.removed}</span>
        </span>
      </button>
      {open &&
        file.diffs.map((diff, index) => (
          <section
            // biome-ignore lint/suspicious/noArrayIndexKey: one edit may change several places
            key={`${diff.number}-${index}`}
            aria-label={`Change ${index + 1} of ${file.path}`}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a mouse
            tabIndex={0}
            className="overflow-x-auto border-t border-line bg-raised focus-visible:-outline-offset-2"
          >
            <DiffView name={file.path} oldText={diff.oldText} newText={diff.newText} numbered={diff.whole} />
          </section>
        ))}
    </div>
  );
}
