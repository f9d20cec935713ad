"use client";

import { useLayoutEffect, useRef } from "react";
import { CodeView } from "../../code/code-view.tsx";
import { DiffView } from "../../code/diff-view.tsx";
import type { ToolBody } from "./tool-view.ts";

export function ToolBodyView({ body, running }: { body: ToolBody; running: boolean }) {
  return (
    <section
      aria-label={labels[body.type]}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a mouse
      tabIndex={0}
      className="max-h-80 overflow-auto border-t border-line bg-raised focus-visible:-outline-offset-2"
    >
      <Content body={body} running={running} />
    </section>
  );
}

const labels: Record<ToolBody["type"], string> = {
  diff: "Changes",
  file: "File",
  terminal: "Command and output",
  text: "Result",
  error: "Error",
};

function Content({ body, running }: { body: ToolBody; running: boolean }) {
  if (body.type === "diff") {
    return <DiffView name={body.path} oldText={body.oldText} newText={body.newText} numbered={body.whole} />;
  }
  if (body.type === "file") return <CodeView name={body.path} text={body.text} firstLine={body.firstLine} />;
  if (body.type === "terminal") return <Terminal {...body} running={running} />;
  return (
    <pre
      className={`px-3 py-2 font-mono text-12 leading-5 whitespace-pre-wrap ${body.type === "error" ? "text-danger" : ""}`}
    >
      {body.text}
    </pre>
  );
}

function Terminal({
  command,
  output,
  note,
  exitCode,
  running,
}: Extract<ToolBody, { type: "terminal" }> & { running: boolean }) {
  const end = useRef<HTMLSpanElement>(null);

  // A command that still prints is followed; one that is done is read from where the reader is.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new output moves the end
  useLayoutEffect(() => {
    const box = end.current?.closest("section");
    if (running && box) box.scrollTop = box.scrollHeight;
  }, [output, running]);

  return (
    <pre className="px-3 py-2 font-mono text-12 leading-5 [overflow-wrap:anywhere] whitespace-pre-wrap">
      <span className="text-muted select-none">$ </span>
      {command}
      {output && `\n${output.replace(/\n$/, "")}`}
      {!running && exitCode !== null && exitCode !== 0 && (
        <span className="block pt-1 text-danger">exit {exitCode}</span>
      )}
      {note && <span className="block pt-1 text-muted">{note}</span>}
      {!running && !output && exitCode === 0 && <span className="block pt-1 text-muted">No output.</span>}
      <span ref={end} />
    </pre>
  );
}
