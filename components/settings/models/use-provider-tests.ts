"use client";

import { useCallback, useState } from "react";
import type { Failure } from "../../ui/outcome.ts";
import type { ModelActions } from "./provider-view.ts";

export interface ProviderTests {
  isRunning(providerId: string): boolean;
  /** That the test itself could not be made; what the provider said is on the provider. */
  failureOf(providerId: string): Failure | null;
  begin(providerId: string): void;
}

/** Tests outlive the dialog that begins them, so they are kept above the cards. */
export function useProviderTests(test: ModelActions["testProvider"]): ProviderTests {
  const [states, setStates] = useState<Record<string, "running" | Failure>>({});

  const begin = useCallback(
    async (providerId: string) => {
      setStates((before) => ({ ...before, [providerId]: "running" }));
      const outcome = await test(providerId).catch(
        (): Failure => ({ ok: false, message: "The server did not answer. Check your connection and try again." }),
      );
      if (!outcome.ok && outcome.leadsTo) return window.location.assign(outcome.leadsTo);
      setStates(({ [providerId]: _, ...others }) => (outcome.ok ? others : { ...others, [providerId]: outcome }));
    },
    [test],
  );

  return {
    isRunning: (providerId) => states[providerId] === "running",
    failureOf(providerId) {
      const state = states[providerId];
      return state && state !== "running" ? state : null;
    },
    begin: (providerId) => void begin(providerId),
  };
}
