"use client";

import { useCallback, useState, useTransition } from "react";
import type { Failure, Outcome } from "./outcome.ts";

/** Runs one call at a time and keeps its failure until the next begins. */
export function useOutcome() {
  const [pending, startTransition] = useTransition();
  const [failure, setFailure] = useState<Failure | null>(null);

  const run = useCallback(
    <Value>(
      call: () => Promise<Outcome<Value>>,
      onSuccess?: (value: { ok: true } & Value) => void,
      onFailure?: (failure: Failure) => void,
    ) => {
      setFailure(null);
      startTransition(async () => {
        const outcome = await outcomeOf(call);
        if (outcome.ok) return onSuccess?.(outcome);
        if (outcome.leadsTo) return window.location.assign(outcome.leadsTo);
        setFailure(outcome);
        onFailure?.(outcome);
      });
    },
    [],
  );

  return { pending, failure, run, forget: useCallback(() => setFailure(null), []) };
}

async function outcomeOf<Value>(call: () => Promise<Outcome<Value>>): Promise<Outcome<Value>> {
  try {
    return await call();
  } catch {
    return { ok: false, message: "The server did not answer. Check your connection and try again." };
  }
}
