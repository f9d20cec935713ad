/** So many at once, and so many of them for one caller; the others wait in the order in which they came. */
export interface Slots {
  /** Resolves with what gives the slot back; null when `over` came first. */
  take(caller: string, over: AbortSignal): Promise<(() => void) | null>;
}

export function createSlots({ total, perCaller }: { total: number; perCaller: number }): Slots {
  const taken = new Map<string, number>();
  const waiting = new Set<{ caller: string; begin: () => void }>();
  let all = 0;

  const isFree = (caller: string) => all < total && (taken.get(caller) ?? 0) < perCaller;

  function occupy(caller: string): () => void {
    all += 1;
    taken.set(caller, (taken.get(caller) ?? 0) + 1);
    return () => {
      all -= 1;
      const left = (taken.get(caller) ?? 1) - 1;
      if (left > 0) taken.set(caller, left);
      else taken.delete(caller);
      letIn();
    };
  }

  function letIn(): void {
    for (const one of waiting) {
      if (all >= total) return;
      if (isFree(one.caller)) one.begin();
    }
  }

  return {
    async take(caller, over) {
      if (over.aborted) return null;
      if (isFree(caller)) return occupy(caller);
      return new Promise((resolve) => {
        const leave = () => {
          waiting.delete(one);
          resolve(null);
        };
        const one = {
          caller,
          begin() {
            waiting.delete(one);
            over.removeEventListener("abort", leave);
            resolve(occupy(caller));
          },
        };
        waiting.add(one);
        over.addEventListener("abort", leave);
      });
    },
  };
}
