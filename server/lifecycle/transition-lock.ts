/** Sandboxes that are being ended or taken over: whoever wants to wake one of them waits for that. */
export interface TransitionLock {
  has(sandboxId: string): boolean;
  /** Resolves once nothing is under way, however it went. */
  settled(sandboxId: string): Promise<void>;
  /** Only where nothing is under way. */
  run<Result>(sandboxId: string, work: () => Promise<Result>): Promise<Result>;
}

export function createTransitionLock(): TransitionLock {
  const changes = new Map<string, Promise<void>>();
  return {
    has: (sandboxId) => changes.has(sandboxId),
    settled: (sandboxId) => changes.get(sandboxId) ?? Promise.resolve(),
    run(sandboxId, work) {
      const result = work().finally(() => changes.delete(sandboxId));
      const settled = result.then(
        () => {},
        () => {},
      );
      changes.set(sandboxId, settled);
      return result;
    },
  };
}
