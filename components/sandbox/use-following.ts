"use client";

import { useRouter } from "next/navigation";
import { useEffect, useTransition } from "react";

const busyMilliseconds = 2_000;
const quietMilliseconds = 15_000;
const patience = 5_000;

/**
 * The page shows what its server knows, again and again while somebody looks: often while something is `busy`.
 * Refreshing changes what differs and nothing else, so focus, menus and dialogs stay. A router that cannot reach its
 * server leaves the page, so the server is asked first whether it is there.
 */
export function useFollowing(busy: boolean): void {
  const router = useRouter();
  const [pending, start] = useTransition();

  useEffect(() => {
    if (pending) return;
    const leaving = new AbortController();
    const look = async () => {
      if (document.visibilityState !== "visible" || !(await isThere(leaving.signal))) return;
      if (!leaving.signal.aborted) start(() => router.refresh());
    };
    const timer = setInterval(() => void look(), busy ? busyMilliseconds : quietMilliseconds);
    const onVisible = () => void look();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      leaving.abort();
      clearInterval(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [busy, pending, router]);
}

async function isThere(signal: AbortSignal): Promise<boolean> {
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(patience)]);
    return (await fetch("/api/health/live", { cache: "no-store", signal: within })).ok;
  } catch {
    return false;
  }
}
