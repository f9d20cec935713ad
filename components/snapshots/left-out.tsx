"use client";

import { ChevronRight } from "lucide-react";
import { shownName } from "@/server/protocol/shown-name.ts";
import type { SnapshotFiles } from "@/server/protocol/snapshots.ts";
import { FileName } from "../files/file-name.tsx";
import { toLeftOutWords, toReasonWords } from "./snapshot-words.ts";

/** What is not in the snapshot: in a sentence, and path by path for who wants to know. */
export function LeftOut({ files }: { files: SnapshotFiles }) {
  const words = toLeftOutWords(files);
  if (!words) return null;
  return (
    <details className="group shrink-0 border-b border-line text-12 text-muted">
      <summary className="flex cursor-pointer list-none items-start gap-1.5 px-4 py-2 transition-colors hover:bg-ink/4 focus-visible:-outline-offset-2">
        <ChevronRight
          aria-hidden="true"
          strokeWidth={1.75}
          className="mt-px size-3.5 shrink-0 transition-transform group-open:rotate-90"
        />
        <span className="min-w-0 [overflow-wrap:anywhere]">{words}</span>
      </summary>
      <ul
        aria-label="Left out"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a mouse
        tabIndex={0}
        className="max-h-40 overflow-y-auto pb-2 focus-visible:-outline-offset-2"
      >
        {files.leftOut.map((entry) => (
          <li key={entry.path} className="flex gap-3 py-0.5 pr-4 pl-9">
            <span className="min-w-0 flex-1 truncate whitespace-pre font-mono" title={shownName(entry.path)}>
              <FileName name={entry.path} />
            </span>
            <span className="shrink-0">{toReasonWords(entry)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
