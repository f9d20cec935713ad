"use client";

import { useEffect, useState } from "react";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * How long ago; the exact moment, in the reader's zone, on hover. Only what is `ahead` may lie in the
 * future: anything else that seems to has been read by a clock that is late.
 */
export function Time(props: { at: Date; ahead?: boolean; justNow?: string; className?: string }) {
  const { at, ahead = false, justNow = "now", className } = props;
  const [now, setNow] = useState<number | null>(null);

  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), minute);
    return () => clearInterval(timer);
  }, []);

  // The server's clock and the browser's may disagree by a moment; the effect above puts it right.
  return (
    <time
      dateTime={at.toISOString()}
      title={now === null ? undefined : at.toLocaleString()}
      className={className}
      suppressHydrationWarning
    >
      {inWords(at.getTime(), now ?? Date.now(), ahead) ?? justNow}
    </time>
  );
}

/** Null for this very minute. */
function inWords(moment: number, now: number, ahead: boolean): string | null {
  const at = ahead ? moment : Math.min(moment, now);
  const distance = Math.abs(now - at);
  if (distance < minute) return at > now ? "in a moment" : null;
  if (distance > 14 * day) {
    return new Date(at).toLocaleDateString("en-GB", {
      day: "numeric",
      month: "short",
      year: "numeric",
      timeZone: "UTC",
    });
  }
  const amount =
    distance < hour
      ? `${Math.floor(distance / minute)} min`
      : distance < day
        ? `${Math.floor(distance / hour)} h`
        : plural(Math.round(distance / day), "day");
  return at > now ? `in ${amount}` : `${amount} ago`;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
