"use client";

import { useEffect, useState } from "react";
import type { QueuedTurn } from "@/server/protocol/session-events.ts";
import type { Failure } from "../../ui/outcome.ts";
import { listQueue } from "../session-api.ts";

/**
 * A session's events carry the head of its queue. Once somebody opened the rest it is read, and again with every
 * change; the events alone say which turns wait, and in which order.
 */
export function useWholeQueue(sessionId: string, queue: readonly QueuedTurn[], rest: readonly string[]) {
  const [isOpen, setOpen] = useState(false);
  const [read, setRead] = useState<ReadonlyMap<string, QueuedTurn>>(new Map());
  const [problem, setProblem] = useState<Failure | null>(null);
  const isWanted = isOpen && rest.length > 0;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the head changes with what is behind it
  useEffect(() => {
    if (!isWanted) return;
    const leaving = new AbortController();
    void listQueue(sessionId, leaving.signal).then((outcome) => {
      if (leaving.signal.aborted) return;
      setProblem(outcome.ok ? null : outcome);
      if (outcome.ok) setRead(new Map(outcome.queue.map((turn) => [turn.id, turn])));
      else setOpen(false);
    });
    return () => leaving.abort();
  }, [sessionId, isWanted, queue, rest]);

  const behind = isWanted ? rest.flatMap((id) => read.get(id) ?? []) : [];
  return {
    shown: [...queue, ...behind],
    hidden: rest.length - behind.length,
    loading: isWanted && behind.length < rest.length,
    problem,
    open: () => setOpen(true),
  };
}
