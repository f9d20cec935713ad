import type { WakePhase } from "./index.ts";

export type ReportPhase = (phase: WakePhase) => void;
export type PhaseListener = (phase: WakePhase) => Promise<void>;

/** Tells one listener phase after phase, in order, without anybody waiting for it. */
export interface PhaseReporter {
  report: ReportPhase;
  /** Once the listener has heard everything that was reported so far; throws what the listener threw. */
  heard(): Promise<void>;
}

export function createPhaseReporter(listener: PhaseListener): PhaseReporter {
  let last: Promise<void> = Promise.resolve();
  return {
    report(phase) {
      last = last.then(() => listener(phase));
      last.catch(() => {});
    },
    heard: () => last,
  };
}
