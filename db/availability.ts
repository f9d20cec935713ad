import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "./database-problem.ts";

/** Whether the database answers, as everybody who needs it finds out together. */
export interface Availability {
  isAway(): boolean;
  /** Looks once; throws when it does not answer. */
  ping(): Promise<void>;
  /** Somebody has reason to believe that it is away. */
  look(): void;
  /**
   * Runs it, and again after the database was away, as long as it certainly changed nothing: `mayHaveBeenDone` is
   * asked about one that broke off. Gives up after `holdMilliseconds`, and when the server stops.
   */
  hold<Result>(run: () => Promise<Result>, mayHaveBeenDone: (error: unknown) => boolean): Promise<Result>;
  close(): void;
}

export interface AvailabilityOptions {
  /** Throws while the database does not answer. */
  probe(): Promise<void>;
  holdMilliseconds?: number;
  /** The server ends: nobody waits any more. */
  stopping?: AbortSignal | undefined;
}

const shortestPause = 50;
const longestPause = 1_000;

/**
 * A database that is restarted is away for seconds. Whoever finds that out begins to look for it, and all who need it
 * wait for the same look. One broken connection is no absence: it is away only once a look has failed.
 */
export function createAvailability(options: AvailabilityOptions): Availability {
  // Longer than the embedded one has for its tries.
  const { probe, holdMilliseconds = 150_000 } = options;
  const closing = new AbortController();
  const stopping = options.stopping ? AbortSignal.any([options.stopping, closing.signal]) : closing.signal;
  let away = false;
  let looking: Promise<boolean> | null = null;

  /** True once it answers. */
  async function lookUntil(deadline: number): Promise<boolean> {
    for (let pause = shortestPause; ; pause = Math.min(pause * 2, longestPause)) {
      const answers = await probe().then(
        () => true,
        () => false,
      );
      away = !answers;
      if (answers || Date.now() >= deadline || stopping.aborted) return answers;
      await sleep(pause, undefined, { signal: stopping, ref: false }).catch(() => {});
    }
  }

  function lookOnce(): Promise<boolean> {
    looking ??= lookUntil(Date.now() + holdMilliseconds).finally(() => {
      looking = null;
    });
    return looking;
  }

  return {
    isAway: () => away,
    async ping() {
      await probe();
      away = false;
    },
    look: () => void lookOnce(),
    async hold(run, mayHaveBeenDone) {
      const deadline = Date.now() + holdMilliseconds;
      for (;;) {
        try {
          if (away) await lookOnce();
          return await run();
        } catch (error) {
          if (!isLost(error) || stopping.aborted) throw error;
          const answers = lookOnce();
          if (mayHaveBeenDone(error) || !(await answers) || Date.now() >= deadline) throw error;
        }
      }
    },
    close: () => closing.abort(),
  };
}

/** The statement did not even begin, or the database said itself that it broke it off. */
const neverDone = new Set(["ECONNREFUSED", "EHOSTUNREACH", "CONNECT_TIMEOUT", "57P01", "57P02", "57P03"]);
const brokenOff = new Set(["ECONNRESET", "EPIPE", "ETIMEDOUT", "CONNECTION_CLOSED"]);

function isLost(error: unknown): boolean {
  if (isOfItsUser(error)) return false;
  const code = errorCode(error);
  return code !== undefined && (neverDone.has(code) || brokenOff.has(code));
}

/** What whoever works with the database throws may have such a code too: of a connection of its own. */
function isOfItsUser(error: unknown): boolean {
  return typeof error === "object" && error !== null && Symbol.for("dormouse.app-error") in error;
}

/** A statement that commits by itself: with the connection its answer was lost, and perhaps nothing else. */
export function isBrokenOff(error: unknown): boolean {
  const code = errorCode(error);
  return code !== undefined && brokenOff.has(code);
}
