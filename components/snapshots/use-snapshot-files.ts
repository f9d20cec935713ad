"use client";

import { useEffect, useState } from "react";
import type { SnapshotFiles } from "@/server/protocol/snapshots.ts";
import { listSnapshotFiles } from "../session/session-api.ts";

/** Read once: a snapshot never changes. `retry` is for when that failed. */
export function useSnapshotFiles(sessionId: string, snapshotId: string) {
  const [files, setFiles] = useState<SnapshotFiles | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt reads again
  useEffect(() => {
    const leaving = new AbortController();
    setProblem(null);
    void listSnapshotFiles(sessionId, snapshotId, leaving.signal).then((outcome) => {
      if (leaving.signal.aborted) return;
      if (outcome.ok) setFiles(outcome);
      else setProblem(outcome.message);
    });
    return () => leaving.abort();
  }, [sessionId, snapshotId, attempt]);

  return { files, problem, retry: () => setAttempt(attempt + 1) };
}
