"use client";

import { useInBrowser } from "./use-in-browser.ts";

const parts = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
const local = new Intl.DateTimeFormat("en-GB", parts);
const universal = new Intl.DateTimeFormat("en-GB", { ...parts, timeZone: "UTC", timeZoneName: "short" });

/** `17 Nov, 22:41` in the reader's zone, which the server does not know: what it renders says that it is UTC. */
export function Moment({ at }: { at: Date }) {
  const inBrowser = useInBrowser();
  return (
    <time dateTime={at.toISOString()} title={inBrowser ? at.toLocaleString() : undefined} className="tabular-nums">
      {(inBrowser ? local : universal).format(at)}
    </time>
  );
}
