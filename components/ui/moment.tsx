"use client";

const format = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** `17 Nov, 22:41` in the reader's zone: only for what the browser has asked for, since the server's zone is another. */
export function Moment({ at }: { at: Date }) {
  return (
    <time dateTime={at.toISOString()} title={at.toLocaleString()} className="tabular-nums">
      {format.format(at)}
    </time>
  );
}
