"use client";

import { Check, ChevronRight, Circle, CircleDot, CircleSlash, Moon, Redo2, RotateCcw, Undo2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { LogEntryOf } from "@/server/protocol/log-entry.ts";
import { classNames } from "../../ui/class-names.ts";
import { Notice } from "../../ui/notice.tsx";
import { Spinner } from "../../ui/spinner.tsx";
import type { Block } from "./blocks.ts";
import { Elapsed } from "./elapsed.tsx";
import { Markdown } from "./markdown.tsx";
import { amount, cost, duration } from "./wording.ts";

/** A row that opens what is of second interest. */
export function Quiet({ label, icon, children }: { label: ReactNode; icon?: ReactNode; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="flex min-w-0 flex-col">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex h-6 items-center gap-1.5 self-start rounded-control text-13 text-muted transition-colors hover:text-ink"
      >
        {icon}
        {label}
        <ChevronRight
          aria-hidden="true"
          className={classNames("size-3.5 transition-transform", open && "rotate-90")}
          strokeWidth={1.75}
        />
      </button>
      {open && children}
    </div>
  );
}

export function Thought({ block }: { block: Extract<Block, { kind: "thought" }> }) {
  const from = Date.parse(block.sources[0]?.at ?? "");
  const label = block.open ? (
    <span className="flex items-center gap-1.5">
      <span className="animate-breathe">Thinking</span>
      <Elapsed from={from} to={null} />
    </span>
  ) : block.milliseconds !== null && block.milliseconds >= 950 ? (
    `Thought for ${duration(block.milliseconds)}`
  ) : (
    "Thought"
  );
  return (
    <Quiet label={label}>
      <div className="mt-1 border-l-2 border-line pl-4 text-muted [&_.markdown]:text-13">
        <Markdown text={block.text} open={block.open} />
      </div>
    </Quiet>
  );
}

const planIcons = {
  pending: <Circle aria-label="To do:" className="size-3.5 text-control" strokeWidth={1.75} />,
  in_progress: <CircleDot aria-label="In progress:" className="size-3.5 text-awake" strokeWidth={2} />,
  completed: <Check aria-label="Done:" className="size-3.5 text-ok" strokeWidth={2} />,
  cancelled: <CircleSlash aria-label="Cancelled:" className="size-3.5 text-muted" strokeWidth={1.75} />,
};

export function Plan({ entry }: { entry: LogEntryOf<"plan"> }) {
  const { entries } = entry.body;
  const done = entries.filter((item) => item.status === "completed").length;
  return (
    <section aria-label="The agent's plan" className="rounded-card border border-line bg-raised px-3 py-2">
      <p className="flex justify-between text-12 text-muted">
        <span>Plan</span>
        <span className="font-mono tabular-nums">
          {done}/{entries.length}
        </span>
      </p>
      <ul className="mt-1 flex flex-col gap-0.5">
        {entries.map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list has no other identity
          <li key={index} className="flex gap-2 text-13">
            <span className="flex h-5 items-center">{planIcons[item.status]}</span>
            <span
              className={classNames(
                item.status === "completed" && "text-muted",
                item.status === "cancelled" && "text-muted line-through",
                item.status === "in_progress" && "font-medium",
              )}
            >
              {item.content}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The wake, in one quiet line: the present phase, and how long it takes. */
export function Phases({ block }: { block: Extract<Block, { kind: "phases" }> }) {
  const [first, last] = [block.entries[0], block.entries.at(-1)];
  if (!first || !last) return null;
  if (last.body.phase === "failed") {
    return (
      <Notice tone="danger" title="The sandbox did not start">
        {last.body.message} Your message is kept. Send it again to retry.
      </Notice>
    );
  }
  const from = Date.parse(first.at);
  return (
    <p className="flex items-center gap-2 text-13 text-muted">
      {block.done ? (
        <span aria-hidden="true" className="mx-1 size-1.5 rounded-full bg-awake" />
      ) : (
        <Spinner className="size-3.5 text-awake" />
      )}
      {last.body.message}
      <Elapsed from={from} to={block.done ? Date.parse(last.at) : null} />
    </p>
  );
}

export function Retry({ entry }: { entry: LogEntryOf<"parts-discard"> }) {
  return (
    <p className="flex gap-2 text-13 text-muted">
      <RotateCcw aria-hidden="true" className="mt-1 size-3.5 shrink-0" strokeWidth={1.75} />
      <span className="min-w-0 [overflow-wrap:anywhere]">
        {entry.body.reason} Trying again (attempt {entry.body.attempt + 1}).
      </span>
    </p>
  );
}

export function Memory({ entry }: { entry: LogEntryOf<"memory-note"> }) {
  return (
    <p className="flex items-center gap-2 text-13 text-muted">
      <Moon aria-hidden="true" className="size-3.5 shrink-0 text-asleep" strokeWidth={1.75} />
      {entry.body.message}
    </p>
  );
}

export function Failure({ entry }: { entry: LogEntryOf<"error"> | LogEntryOf<"turn-end"> }) {
  const { message, code, requestId } = entry.body;
  return (
    <Notice tone="danger" title={entry.kind === "turn-end" ? "The turn failed" : "Something went wrong"}>
      <p>{message ?? "The agent gave no reason."}</p>
      {(code || requestId) && (
        <p className="mt-1 font-mono text-12 text-muted">{[code, requestId].filter(Boolean).join(" · ")}</p>
      )}
    </Notice>
  );
}

/** What a turn came to: quiet when all went well. */
export function End({ block }: { block: Extract<Block, { kind: "end" }> }) {
  const { end, usage } = block;
  const parts: string[] = [];
  if (end?.body.outcome === "stopped") parts.push("Stopped");
  if (usage) {
    const { tokens } = usage.body;
    parts.push(`${amount(tokens.input + tokens.cacheRead + tokens.cacheWrite)} tokens in`);
    parts.push(`${amount(tokens.output + tokens.reasoning)} out`);
    parts.push(cost(usage.body.cost));
    parts.push(duration(usage.body.milliseconds));
    if (usage.body.modelId) parts.push(usage.body.modelId);
  }
  return (
    <div className="flex flex-col gap-3">
      {end?.body.outcome === "failed" && <Failure entry={end} />}
      {end?.body.untold && (
        <Notice title="The agent could not be told to stop">
          {end.body.machine
            ? `It is on ${end.body.machine}, which is away. If it still works there, that ends when the machine is back.`
            : "It does not answer at the moment. What it still does is ended as soon as it can be reached, and before your next message."}
        </Notice>
      )}
      {parts.length > 0 && <p className="font-mono text-12 text-muted tabular-nums">{parts.join(" · ")}</p>}
    </div>
  );
}

export function Discarded({ reason, children }: { reason: string | null; children: ReactNode }) {
  const icon = <RotateCcw aria-hidden="true" className="size-3.5" strokeWidth={1.75} />;
  return (
    <Quiet icon={icon} label={reason ? `Failed attempt: ${reason}` : "Failed attempt"}>
      <div className="mt-2 flex flex-col gap-3 border-l-2 border-line pl-4 opacity-75">{children}</div>
    </Quiet>
  );
}

/** Neither the agent nor its files know of it any more; it can still be read. */
export function Undone({ children }: { children: ReactNode }) {
  const icon = <Undo2 aria-hidden="true" className="size-3.5" strokeWidth={1.75} />;
  return (
    <Quiet icon={icon} label="Undone">
      <div className="mt-2 flex flex-col gap-3 border-l-2 border-line pl-4 opacity-75">{children}</div>
    </Quiet>
  );
}

export function Revert({ entry }: { entry: LogEntryOf<"turn-undo"> | LogEntryOf<"turn-redo"> }) {
  const isUndo = entry.kind === "turn-undo";
  const Icon = isUndo ? Undo2 : Redo2;
  return (
    <p className="flex items-center gap-2 text-13 text-muted">
      <Icon aria-hidden="true" className="size-3.5 shrink-0" strokeWidth={1.75} />
      {isUndo
        ? "The last turn was undone. The agent has forgotten it, and its file changes were reverted."
        : "The undone turn is back, and so are its file changes."}
    </p>
  );
}
