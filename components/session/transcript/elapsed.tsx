"use client";

import { useEffect, useState } from "react";
import { duration } from "./wording.ts";

const shortestShown = 950;

/** How long something took or takes. What was quick is not worth a number. */
export function Elapsed({ from, to }: { from: number | null; to: number | null }) {
  const [now, setNow] = useState<number | null>(null);
  const running = from !== null && to === null;

  useEffect(() => {
    if (!running) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [running]);

  const end = to ?? now;
  if (from === null || end === null) return null;
  const milliseconds = Math.max(0, end - from);
  if (milliseconds < shortestShown) return null;
  const shown = running ? Math.round(milliseconds / 1000) * 1000 : milliseconds;
  return <span className="shrink-0 font-mono text-12 text-muted tabular-nums">{duration(shown)}</span>;
}
