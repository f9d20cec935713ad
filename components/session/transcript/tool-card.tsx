"use client";

import {
  ChevronRight,
  FilePen,
  FilePlus2,
  FileText,
  FolderTree,
  Globe,
  ListChecks,
  Search,
  SquareTerminal,
  Users,
  Wrench,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import type { ToolIcon } from "@/server/protocol/tools.ts";
import { classNames } from "../../ui/class-names.ts";
import { Spinner } from "../../ui/spinner.tsx";
import type { ToolBlock } from "./blocks.ts";
import { Elapsed } from "./elapsed.tsx";
import { ToolBodyView } from "./tool-body.tsx";
import { type ToolView, toRunSummary, toToolView } from "./tool-view.ts";

const icons: Record<ToolIcon, typeof Wrench> = {
  read: FileText,
  write: FilePlus2,
  edit: FilePen,
  run: SquareTerminal,
  search: Search,
  list: FolderTree,
  fetch: Globe,
  subagent: Users,
  plan: ListChecks,
  other: Wrench,
};

interface ToolRunProps {
  tools: ToolBlock[];
  renderNested: (block: ToolBlock) => ReactNode;
}

/** One call, or a run of the same kind folded into one row. */
export function ToolRun({ tools, renderNested }: ToolRunProps) {
  const [only] = tools;
  if (tools.length === 1 && only) return <ToolCard tool={only} renderNested={renderNested} />;
  const views = tools.map(({ entry }) => toToolView(entry));
  const summary = toRunSummary(
    views,
    tools.map(({ entry }) => entry),
  );
  return (
    <Fold row={summary} failed={views.some((view) => view.failed)} hasBody>
      <div className="flex flex-col gap-px py-1 pl-4">
        {tools.map((tool) => (
          <ToolCard key={tool.entry.number} tool={tool} renderNested={renderNested} bare />
        ))}
      </div>
    </Fold>
  );
}

function ToolCard({
  tool,
  renderNested,
  bare = false,
}: { tool: ToolBlock; bare?: boolean } & Pick<ToolRunProps, "renderNested">) {
  const view = toToolView(tool.entry);
  const nested = tool.nested.length > 0;
  // A subagent's result is the last thing it said.
  const bodies = nested ? view.bodies.filter((body) => body.type !== "text") : view.bodies;
  return (
    <Fold
      row={view}
      failed={view.failed}
      hasBody={nested || bodies.length > 0}
      bare={bare}
      opensItself={nested && view.running}
    >
      {nested && <div className="flex flex-col gap-3 border-t border-line py-3 pr-3 pl-8">{renderNested(tool)}</div>}
      {bodies.map((body, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bodies keep their order
        <ToolBodyView key={index} body={body} running={view.running} />
      ))}
    </Fold>
  );
}

type Row = Pick<ToolView, "icon" | "verb" | "target" | "result" | "running" | "startedAt" | "endedAt">;

/** Opens by itself on failure; what a person opened or closed stays so. */
function Fold(props: {
  row: Row;
  failed: boolean;
  hasBody: boolean;
  bare?: boolean;
  opensItself?: boolean;
  children: ReactNode;
}) {
  const { row, failed, hasBody, bare = false, opensItself = false, children } = props;
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = hasBody && (chosen ?? (failed || opensItself));
  const Icon = icons[row.icon];
  return (
    <div className={classNames("min-w-0 overflow-hidden", !bare && "rounded-card border border-line bg-raised")}>
      <button
        type="button"
        disabled={!hasBody}
        aria-expanded={hasBody ? open : undefined}
        onClick={() => setChosen(!open)}
        className={classNames(
          "flex h-8 w-full min-w-0 items-center gap-2 px-2.5 text-left text-13 transition-colors enabled:hover:bg-ink/4 focus-visible:-outline-offset-2 pointer-coarse:h-10",
          bare && "rounded-control",
        )}
      >
        {row.running ? (
          <Spinner className="size-3.5 text-awake" />
        ) : (
          <Icon
            aria-hidden="true"
            className={classNames("size-3.5 shrink-0", failed ? "text-danger" : "text-muted")}
            strokeWidth={1.75}
          />
        )}
        <span className="shrink-0">{row.verb}</span>
        <span className="min-w-0 flex-1 truncate font-mono text-12">{row.target}</span>
        <Result result={row.result} />
        <Elapsed from={row.startedAt} to={row.running ? null : row.endedAt} />
        <ChevronRight
          aria-hidden="true"
          className={classNames(
            "size-3.5 shrink-0 text-muted transition-transform",
            open && "rotate-90",
            !hasBody && "invisible",
          )}
          strokeWidth={1.75}
        />
      </button>
      {open && children}
    </div>
  );
}

function Result({ result }: { result: ToolView["result"] }) {
  if (!result) return null;
  if ("added" in result) {
    return (
      <span className="shrink-0 font-mono text-12 tabular-nums">
        <span className="text-ok">+{result.added}</span> <span className="text-danger">−{result.removed}</span>
      </span>
    );
  }
  return (
    <span className={classNames("shrink-0 font-mono text-12", result.tone === "danger" ? "text-danger" : "text-muted")}>
      {result.text}
    </span>
  );
}
