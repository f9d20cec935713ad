"use client";

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ViewerState } from "@/server/protocol/viewer-state.ts";
import { randomId } from "../random-id.ts";
import { startTurn } from "../session-api.ts";
import { type OutboxItem, readOutbox, withoutShown, writeOutbox } from "./outbox.ts";

const none: readonly OutboxItem[] = [];

/** Sends in the order of writing, one at a time; a failure stays until the person tries again or takes it back. */
export function useOutbox(sessionId: string, state: ViewerState) {
  const [items, setItems] = useState(none);
  const current = useRef(none);
  const sending = useRef(false);

  const change = useCallback(
    (next: readonly OutboxItem[]) => {
      current.current = next;
      writeOutbox(localStorage, sessionId, next);
      setItems(next);
    },
    [sessionId],
  );

  const pump = useCallback(async () => {
    if (sending.current) return;
    sending.current = true;
    for (;;) {
      const item = current.current.find(({ turnId, problem }) => turnId === null && problem === null);
      if (!item) break;
      const outcome = await startTurn(sessionId, { prompt: item.text, idempotencyKey: item.key });
      const put = (part: Partial<OutboxItem>) =>
        change(current.current.map((other) => (other.key === item.key ? { ...other, ...part } : other)));
      if (outcome.ok) put({ turnId: outcome.turn.id });
      else put({ problem: outcome.message });
      if (!outcome.ok && outcome.leadsTo) window.location.assign(outcome.leadsTo);
    }
    sending.current = false;
  }, [sessionId, change]);

  // What a reload interrupted goes on by itself: the key makes it one turn.
  useEffect(() => {
    change(readOutbox(localStorage, sessionId));
    void pump();
  }, [sessionId, change, pump]);

  const shown = useMemo(() => shownTurnIds(state), [state]);
  useEffect(() => {
    const left = withoutShown(current.current, shown);
    if (left !== current.current) change(left);
  }, [shown, change]);

  return {
    items: withoutShown(items, shown),
    send(text: string) {
      change([...current.current, { key: randomId(), text, problem: null, turnId: null }]);
      void pump();
    },
    retry(key: string) {
      change(current.current.map((item) => (item.key === key ? { ...item, problem: null } : item)));
      void pump();
    },
    /** Only what the server did not confirm can be taken back; returns its text. */
    takeBack(key: string): string {
      const item = current.current.find((other) => other.key === key);
      change(current.current.filter((other) => other.key !== key));
      return item?.text ?? "";
    },
  };
}

function shownTurnIds(state: ViewerState): ReadonlySet<string> {
  const ids = new Set<string>(state.session?.queue.map((turn) => turn.id));
  for (const id of state.session?.queueRest ?? []) ids.add(id);
  for (const entry of state.entries) if (entry.turnId) ids.add(entry.turnId);
  return ids;
}
