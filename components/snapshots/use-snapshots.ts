"use client";

import { useCallback, useEffect, useState } from "react";
import type { Snapshot } from "@/server/protocol/snapshots.ts";
import { listSnapshots } from "../session/session-api.ts";

/**
 * The session's snapshots, read again whenever `pulse` changes; nothing is asked for in between. What was
 * seen stays when a later look fails.
 */
export function useSnapshots(sessionId: string, pulse: string) {
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

  // biome-ignore lint/correctness/useExhaustiveDependencies: each pulse reads again
  useEffect(() => {
    const leaving = new AbortController();
    void load(leaving.signal);
    return () => leaving.abort();
  }, [load, pulse]);

  return { snapshots, problem, load };
}
