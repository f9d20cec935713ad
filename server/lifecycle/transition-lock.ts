/** Sandboxes that are being ended or taken over: whoever wants to wake one of them waits for that. */
export interface TransitionLock {
  has(sandboxId: string): boolean;
  /** Resolves once nothing is under way, however it went. */
  ended(sandboxId: string): Promise<void>;
  /** Only where nothing is under way. */
  run<Result>(sandboxId: string, work: () => Promise<Result>): Promise<Result>;
}

export function createTransitionLock(): TransitionLock {
  const transitions = new Map<string, Promise<void>>();
  return {
    has: (sandboxId) => transitions.has(sandboxId),
    ended: (sandboxId) => transitions.get(sandboxId) ?? Promise.resolve(),
    run(sandboxId, work) {
      const result = work().finally(() => transitions.delete(sandboxId));
      const ended = result.then(
        () => {},
        () => {},
      );
      transitions.set(sandboxId, ended);
      return result;
    },
  };
}
