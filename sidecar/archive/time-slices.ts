import { setImmediate as nextRound } from "node:timers/promises";

const sliceMilliseconds = 8;

/**
 * Small files are handled synchronously, which is many times faster than a round through the thread
 * pool for each call; this gives everybody else at the door their turn in between.
 */
export function createTimeSlices(signal?: AbortSignal): { turn(): Promise<void> | undefined } {
  let began = performance.now();
  return {
    /** To be awaited where there is something to await. */
    turn() {
      signal?.throwIfAborted();
      if (performance.now() - began < sliceMilliseconds) return;
      return nextRound().then(() => {
        began = performance.now();
      });
    },
  };
}
