"use client";

import { ArrowDown } from "lucide-react";
import { memo, type ReactNode, useMemo } from "react";
import type { LogEntry } from "@/server/protocol/log-entry.ts";
import { Button } from "../../ui/button.tsx";
import { AskCard } from "./ask-card.tsx";
import { type Block, sameSources, type ToolBlock, toBlocks } from "./blocks.ts";
import { Markdown } from "./markdown.tsx";
import { Discarded, End, Failure, Memory, Phases, Plan, Retry, Revert, Thought, Undone } from "./small-blocks.tsx";
import { ToolRun } from "./tool-card.tsx";
import { useStickToEnd } from "./use-stick-to-end.ts";
import { Waiting } from "./waiting.tsx";

interface TranscriptProps {
  sessionId: string;
  entries: readonly LogEntry[];
  /** Sent, but not in the log yet. */
  waiting: string | null;
  /** The agent works, and nothing of it shows yet. */
  working: boolean;
  empty: ReactNode;
}

export function Transcript({ sessionId, entries, waiting, working, empty }: TranscriptProps) {
  const blocks = useMemo(() => toBlocks(entries), [entries]);
  const { box, content, atEnd, toEnd } = useStickToEnd();
  const isEmpty = blocks.length === 0 && waiting === null;
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <section
        ref={box}
        aria-label="Transcript"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a mouse
        tabIndex={0}
        className="min-h-0 flex-1 overflow-y-auto overscroll-contain focus-visible:-outline-offset-2"
      >
        <div ref={content} className="flex min-h-full flex-col gap-4 pb-8">
          {isEmpty && <div className="flex flex-1 flex-col justify-center">{empty}</div>}
          {blocks.map((block, index) => (
            <BlockView
              key={block.key}
              block={block}
              sessionId={sessionId}
              tight={block.kind === "tools" && blocks[index - 1]?.kind === "tools"}
            />
          ))}
          {waiting !== null && <Prompt text={waiting} pending />}
          {working && (
            <Column>
              <p className="text-13 text-muted">
                <span className="animate-breathe">Working</span>
              </p>
            </Column>
          )}
        </div>
      </section>
      {!atEnd && (
        <Button
          size="small"
          onClick={toEnd}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full pointer-coarse:h-9"
        >
          <ArrowDown aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
          Jump to latest
        </Button>
      )}
    </div>
  );
}

export function Column({ children }: { children: ReactNode }) {
  return <div className="mx-auto w-full max-w-180 px-4 sm:px-6 xl:px-0">{children}</div>;
}

const BlockView = memo(
  function BlockView({ block, sessionId, tight }: { block: Block; sessionId: string; tight: boolean }) {
    if (block.kind === "prompt") return <Prompt text={block.text} />;
    return (
      <div className={tight ? "-mt-2.5" : undefined}>
        <Column>
          <Inner block={block} sessionId={sessionId} />
        </Column>
      </div>
    );
  },
  (before, after) =>
    before.sessionId === after.sessionId && before.tight === after.tight && sameSources(before.block, after.block),
);

function Inner({ block, sessionId }: { block: Block; sessionId: string }) {
  switch (block.kind) {
    case "prompt":
      return <p className="text-13 whitespace-pre-wrap text-muted">{block.text}</p>;
    case "answer":
      return <Markdown text={block.text} open={block.open} />;
    case "thought":
      return <Thought block={block} />;
    case "tools":
      return <ToolRun tools={block.tools} renderNested={(tool: ToolBlock) => inside(tool.nested, sessionId)} />;
    case "plan":
      return <Plan entry={block.entry} />;
    case "ask":
      return <AskCard entry={block.entry} />;
    case "phases":
      return <Phases block={block} />;
    case "waiting":
      return <Waiting entry={block.entry} sessionId={sessionId} />;
    case "discarded":
      return <Discarded reason={block.reason}>{inside(block.blocks, sessionId)}</Discarded>;
    case "retry":
      return <Retry entry={block.entry} />;
    case "undone":
      return <Undone>{inside(block.blocks, sessionId)}</Undone>;
    case "revert":
      return <Revert entry={block.entry} />;
    case "memory":
      return <Memory entry={block.entry} />;
    case "error":
      return <Failure entry={block.entry} />;
    case "end":
      return <End block={block} />;
  }
}

function inside(blocks: Block[], sessionId: string): ReactNode {
  return blocks.map((block) => <Inner key={block.key} block={block} sessionId={sessionId} />);
}

/** A tinted band over the whole width; an answer stands on the plain ground. */
function Prompt({ text, pending = false }: { text: string; pending?: boolean }) {
  return (
    <article
      aria-label="Prompt"
      className="border-y border-line bg-panel py-3 [&:not(:first-child)]:mt-4 first:border-t-0"
    >
      <Column>
        <p className="text-15 [overflow-wrap:anywhere] whitespace-pre-wrap">{text}</p>
        {pending && <p className="text-12 text-muted">Sending …</p>}
      </Column>
    </article>
  );
}
