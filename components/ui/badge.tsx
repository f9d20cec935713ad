import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

const dots = {
  awake: "bg-awake",
  working: "bg-awake animate-breathe",
  asleep: "bg-asleep",
  ok: "bg-ok",
  danger: "bg-danger",
  still: "bg-control",
} as const;

export type DotTone = keyof typeof dots;

/** A state is a dot and its word: never the colour alone. */
export function StateDot({ tone, children, className }: { tone: DotTone; children: ReactNode; className?: string }) {
  return (
    <span className={classNames("inline-flex items-center gap-2 whitespace-nowrap", className)}>
      <span aria-hidden="true" className={classNames("size-2 shrink-0 rounded-full", dots[tone])} />
      {children}
    </span>
  );
}

export function Badge({ children }: { children: ReactNode }) {
  return (
    <span className="inline-flex h-5 items-center rounded-control border border-line bg-panel px-1.5 text-12 text-muted">
      {children}
    </span>
  );
}
