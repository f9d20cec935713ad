"use client";

import { useMemo } from "react";
import { type DiffLine, diffLines, withContext } from "../session/transcript/line-diff.ts";
import { classNames } from "../ui/class-names.ts";
import { CodeLine } from "./code-line.tsx";
import { useHighlight } from "./use-highlight.ts";

const signs = { same: " ", added: "+", removed: "−" } as const;
const tints = { same: "", added: "bg-added", removed: "bg-removed" } as const;
const signTints = { same: "", added: "text-ok", removed: "text-danger" } as const;

interface DiffViewProps {
  name: string;
  oldText: string;
  newText: string;
  /** Of a part of a file nobody knows the numbers. */
  numbered: boolean;
}

export function DiffView({ name, oldText, newText, numbered }: DiffViewProps) {
  const lines = useMemo(() => withContext(diffLines(oldText, newText)), [oldText, newText]);
  const oldColours = useHighlight(oldText, name);
  const newColours = useHighlight(newText, name);
  const width = `${String(Math.max(oldText.split("\n").length, newText.split("\n").length)).length}ch`;

  function tokensOf(line: DiffLine) {
    return line.new === null ? oldColours?.[(line.old ?? 1) - 1] : newColours?.[line.new - 1];
  }

  return (
    <pre className="min-w-max py-2 font-mono text-12 leading-5">
      {lines.map((line, index) =>
        line === null ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line's identity is its position
          <span key={index} className="block px-3 text-muted select-none">
            ⋯
          </span>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line's identity is its position
          <span key={index} className={classNames("flex", tints[line.kind])}>
            {numbered && (
              <span aria-hidden="true" className="shrink-0 pl-3 text-right text-muted select-none">
                <span className="inline-block" style={{ width }}>
                  {line.new ?? line.old}
                </span>
              </span>
            )}
            <span className={classNames("w-7 shrink-0 text-center select-none", signTints[line.kind])}>
              {signs[line.kind]}
            </span>
            <code className="pr-4">
              <CodeLine text={line.text} tokens={tokensOf(line)} />
            </code>
          </span>
        ),
      )}
    </pre>
  );
}
