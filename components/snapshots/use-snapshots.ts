"use client";

import { useCallback, useEffect, useState } from "react";
import type { Snapshot } from "@/server/protocol/snapshots.ts";
import { listSnapshots } from "../session/session-api.ts";

const everyMilliseconds = 30_000;

/** The session's snapshots while they are looked at; what was seen stays when a later look fails. */
export function useSnapshots(sessionId: string) {
  const [snapshots, setSnapshots] = useState<Snapshot[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);

  const load = useCallback(
    async (signal?: AbortSignal) => {
      const outcome = await listSnapshots(sessionId, signal);
      if (signal?.aborted) return;
      if (outcome.ok) setSnapshots(outcome.snapshots);
      setProblem(outcome.ok ? null : outcome.message);
    },
    [sessionId],
  );

  useEffect(() => {
    const leaving = new AbortController();
    void load(leaving.signal);
    const timer = setInterval(() => void load(leaving.signal), everyMilliseconds);
    return () => {
      clearInterval(timer);
      leaving.abort();
    };
  }, [load]);

  return { snapshots, problem, load };
}
