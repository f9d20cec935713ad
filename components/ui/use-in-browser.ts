"use client";

import { useSyncExternalStore } from "react";

/** False on the server and in the first paint, which must agree with it: for what only the browser knows. */
export function useInBrowser(): boolean {
  return useSyncExternalStore(
    () => () => {},
    () => true,
    () => false,
  );
}
