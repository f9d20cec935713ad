"use client";

import { CodeLine } from "./code-line.tsx";
import { useHighlight } from "./use-highlight.ts";

/** A file, or a part of it, with line numbers. */
export function CodeView({ text, name, firstLine = 1 }: { text: string; name: string; firstLine?: number }) {
  const colours = useHighlight(text, name);
  const lines = text.replace(/\n$/, "").split("\n");
  const width = `${String(firstLine + lines.length).length}ch`;
  return (
    <pre className="min-w-max py-2 font-mono text-12 leading-5">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line's identity is its number
        <span key={index} className="flex">
          <span
            aria-hidden="true"
            className="sticky left-0 shrink-0 bg-inherit pr-4 pl-3 text-right text-muted select-none"
          >
            <span className="inline-block" style={{ width }}>
              {firstLine + index}
            </span>
          </span>
          <code className="pr-4">
            <CodeLine text={line} tokens={colours?.[index]} />
          </code>
        </span>
      ))}
    </pre>
  );
}
