"use client";

import { useCallback } from "react";
import { toast } from "sonner";
import type { Outcome } from "./outcome.ts";
import { useOutcome } from "./use-outcome.ts";

/** For a deed that has no place of its own on the page where its failure would stand: it is told in passing. */
export function useToldOutcome() {
  const { pending, run: runOutcome } = useOutcome();
  const run = useCallback(
    <Value>(call: () => Promise<Outcome<Value>>, onSuccess?: (value: { ok: true } & Value) => void) =>
      runOutcome(call, onSuccess, ({ message }) => toast.error(message)),
    [runOutcome],
  );
  return { pending, run };
}
