import type { WakePhase } from "./index.ts";
import type { HeldSandbox } from "./lifecycle-context.ts";

type Listener = (phase: WakePhase) => Promise<void>;

interface Wake {
  result: Promise<HeldSandbox>;
  latest: WakePhase | null;
  voices: Set<ReturnType<typeof createPhaseReporter>>;
}

export interface SharedWakes {
  /**
   * Joins the wake of this sandbox or begins one. Whoever joins late hears the phase it is in; whoever
   * gives up leaves the wake to the others. Resolves after the listener has heard everything.
   */
  join(input: {
    sandboxId: string;
    begin: (say: (phase: WakePhase) => void) => Promise<HeldSandbox>;
    listener: Listener;
    signal: AbortSignal;
  }): Promise<HeldSandbox>;
  isWaking(sandboxId: string): boolean;
  /** Waits for all that are under way, however they end. */
  settled(): Promise<void>;
}

export function createSharedWakes(): SharedWakes {
  const wakes = new Map<string, Wake>();

  function begin(sandboxId: string, start: (say: (phase: WakePhase) => void) => Promise<HeldSandbox>): Wake {
    const wake: Wake = { result: Promise.resolve(null as never), latest: null, voices: new Set() };
    wake.result = start((phase) => {
      wake.latest = phase;
      for (const voice of wake.voices) voice.say(phase);
    }).finally(() => wakes.delete(sandboxId));
    // Its callers may all have given up.
    wake.result.catch(() => {});
    wakes.set(sandboxId, wake);
    return wake;
  }

  return {
    async join({ sandboxId, begin: start, listener, signal }) {
      const wake = wakes.get(sandboxId) ?? begin(sandboxId, start);
      const voice = createPhaseReporter(listener);
      if (wake.latest) voice.say(wake.latest);
      wake.voices.add(voice);
      try {
        return await orAborted(wake.result, signal);
      } finally {
        wake.voices.delete(voice);
        await orAborted(voice.heard(), signal);
      }
    },
    isWaking: (sandboxId) => wakes.has(sandboxId),
    async settled() {
      await Promise.allSettled([...wakes.values()].map(({ result }) => result));
    },
  };
}

/** Tells one listener phase after phase, in order, without anybody waiting for it. */
export function createPhaseReporter(listener: Listener) {
  let last: Promise<void> = Promise.resolve();
  return {
    say(phase: WakePhase) {
      last = last.then(() => listener(phase));
      last.catch(() => {});
    },
    heard: () => last,
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
