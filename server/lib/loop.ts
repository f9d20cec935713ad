import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "./logger.ts";
import { createSerial } from "./serial.ts";

/** Background work with an owner and an end. */
export interface Loop {
  readonly name: string;
  start(): void;
  /** One round, also of a loop that was not started, after the one that is under way. Fails as the round does. */
  runNow(): Promise<void>;
  /** Aborts what runs and waits for it, though not for ever. Idempotent. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  name: string;
  everyMilliseconds: number;
  run(signal: AbortSignal): Promise<void>;
  logger: Pick<Logger, "error" | "warn">;
  stopMilliseconds?: number;
}

/** Runs never overlap: the pause is counted from the end of one to the start of the next. */
export function createLoop({ name, everyMilliseconds, run, logger, stopMilliseconds = 5000 }: LoopOptions): Loop {
  const stopping = new AbortController();
  const rounds = createSerial();
  let running: Promise<void> | undefined;

  async function repeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await rounds.run(() => run(signal));
      } catch (error) {
        if (!signal.aborted) logger.error({ err: error, loop: name }, "A background loop failed and continues");
      }
      await sleep(everyMilliseconds, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  return {
    name,
    start() {
      running ??= repeat(stopping.signal);
    },
    runNow: () => rounds.run(() => run(stopping.signal)),
    async stop() {
      stopping.abort();
      const late = sleep(stopMilliseconds, "late" as const, { ref: false });
      if ((await Promise.race([running, late])) === "late") {
        logger.warn({ loop: name }, "A background loop did not end in time");
      }
    },
  };
}
