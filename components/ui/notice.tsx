"use client";

import { CircleAlert, CircleCheck, Info, Moon } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { classNames } from "./class-names.ts";

const tones = {
  plain: { box: "border-line bg-panel text-ink", icon: Info, tint: "text-muted" },
  danger: { box: "border-danger/40 bg-removed text-ink", icon: CircleAlert, tint: "text-danger" },
  ok: { box: "border-ok/40 bg-added text-ink", icon: CircleCheck, tint: "text-ok" },
  asleep: { box: "border-line bg-panel text-ink", icon: Moon, tint: "text-asleep" },
} as const;

/** A sentence that stays on the page. With `announce` it is read aloud and scrolled to when it appears. */
export function Notice(props: {
  tone?: keyof typeof tones;
  announce?: boolean;
  title?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  const { tone = "plain", announce = false, title, children, className } = props;
  const { box, icon: Icon, tint } = tones[tone];
  const element = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (announce) element.current?.scrollIntoView({ block: "nearest" });
  }, [announce]);

  return (
    <div
      ref={element}
      role={announce ? "alert" : undefined}
      className={classNames("flex gap-2.5 rounded-card border px-3.5 py-3 text-13", box, className)}
    >
      <Icon aria-hidden="true" className={classNames("mt-0.5 size-4 shrink-0", tint)} strokeWidth={1.75} />
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">
        {title && <p className="font-semibold">{title}</p>}
        {children}
      </div>
    </div>
  );
}
