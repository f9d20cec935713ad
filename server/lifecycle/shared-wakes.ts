import type { WakePhase } from "./index.ts";
import type { HeldSandbox } from "./lifecycle-context.ts";
import { createPhaseReporter, type PhaseListener, type PhaseReporter, type ReportPhase } from "./phase-reporter.ts";

interface Wake {
  result: Promise<HeldSandbox>;
  latest: WakePhase | null;
  reporters: Set<PhaseReporter>;
}

type Begin = (reportPhase: ReportPhase) => Promise<HeldSandbox>;

export interface SharedWakes {
  /**
   * Joins the wake of this sandbox or begins one. Whoever joins late hears the phase it is in; whoever
   * gives up leaves the wake to the others. Resolves after the listener has heard everything.
   */
  join(input: { sandboxId: string; begin: Begin; listener: PhaseListener; signal: AbortSignal }): Promise<HeldSandbox>;
  isWaking(sandboxId: string): boolean;
  /** Waits for all that are under way, however they end. */
  ended(): Promise<void>;
}

export function createSharedWakes(): SharedWakes {
  const wakes = new Map<string, Wake>();

  function begin(sandboxId: string, start: Begin): Wake {
    const wake: Wake = { result: Promise.resolve(null as never), latest: null, reporters: new Set() };
    wake.result = start((phase) => {
      wake.latest = phase;
      for (const reporter of wake.reporters) reporter.report(phase);
    }).finally(() => wakes.delete(sandboxId));
    // Its callers may all have given up.
    wake.result.catch(() => {});
    wakes.set(sandboxId, wake);
    return wake;
  }

  return {
    async join({ sandboxId, begin: start, listener, signal }) {
      const wake = wakes.get(sandboxId) ?? begin(sandboxId, start);
      const reporter = createPhaseReporter(listener);
      if (wake.latest) reporter.report(wake.latest);
      wake.reporters.add(reporter);
      try {
        return await orAborted(wake.result, signal);
      } finally {
        wake.reporters.delete(reporter);
        await orAborted(reporter.heard(), signal);
      }
    },
    isWaking: (sandboxId) => wakes.has(sandboxId),
    async ended() {
      await Promise.allSettled([...wakes.values()].map(({ result }) => result));
    },
  };
}

/** The work goes on for others. */
export function orAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
