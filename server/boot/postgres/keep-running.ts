import { setTimeout as sleep } from "node:timers/promises";
import type { Postmaster } from "./postmaster.ts";

export interface KeepRunningOptions {
  first: Postmaster;
  /** Starts it again, with the same data on the same port; throws what a person should hear of. Aborted by `stop`. */
  startAgain(signal: AbortSignal): Promise<Postmaster>;
  /** What happened, for the person who watches. */
  onProgress(line: string): void;
  limits?: Partial<RestartLimits>;
}

export interface RestartLimits {
  tries: number;
  withinMilliseconds: number;
  /** Before the first try; doubled with each that follows. */
  pauseMilliseconds: number;
}

const defaultLimits: RestartLimits = { tries: 5, withinMilliseconds: 120_000, pauseMilliseconds: 250 };

/**
 * A Postgres that is started again whenever it ends by itself. Each try counts, whether it succeeds or not: one that
 * ends again and again is given up like one that does not start, since something is wrong that a start cannot mend.
 */
export function keepRunning({ first, startAgain, onProgress, limits: given }: KeepRunningOptions): KeptPostmaster {
  const limits = { ...defaultLimits, ...given };
  const stopping = new AbortController();
  const tries: number[] = [];
  let current = first;
  let starting: Promise<unknown> = Promise.resolve();

  /** Resolves once it was stopped; rejects once it is lost. */
  async function keep(): Promise<void> {
    for (;;) {
      await current.ended;
      if (stopping.signal.aborted) return;
      onProgress("The embedded Postgres ended by itself: starting it again");
      const again = startSurely();
      starting = again.catch(() => {});
      await again;
      if (stopping.signal.aborted) return;
      onProgress("The embedded Postgres runs again");
    }
  }

  async function startSurely(): Promise<void> {
    for (let pause = limits.pauseMilliseconds; ; pause *= 2) {
      const now = Date.now();
      while (tries[0] !== undefined && tries[0] < now - limits.withinMilliseconds) tries.shift();
      if (tries.length >= limits.tries) throw new Error("It ended too often.");
      tries.push(now);
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      try {
        current = await startAgain(stopping.signal);
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        onProgress(`The embedded Postgres could not be started again: ${firstLine(error)}`);
      }
    }
  }

  const kept = keep();
  return {
    port: first.port,
    lost: new Promise((resolve) => kept.catch(() => resolve())),
    async stop(options) {
      stopping.abort();
      await starting;
      await current.stop(options);
    },
  };
}

export interface KeptPostmaster extends Pick<Postmaster, "port" | "stop"> {
  /** Resolves when it is given up; never after `stop`. */
  lost: Promise<void>;
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
}
