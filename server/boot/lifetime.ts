import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../lib/logger.ts";

/**
 * What was opened on the way up, closed in reverse on the way down. Each closing has a bound of its own,
 * so that one that hangs does not keep the rest from ending.
 */
export interface Lifetime {
  /** Aborted when the end begins: a start under way gives up, open streams say goodbye. */
  readonly stopping: AbortSignal;
  /** `close` of an essential part must be idempotent: it may be called by both ends. */
  add(name: string, limitMilliseconds: number, close: Closer["close"], options?: { essential: boolean }): void;
  beginEnd(): void;
  /** Ends this process alone: Postgres and sandboxes run on for the next, unless `beginEnd` comes after all. */
  beginReload(): void;
  readonly reloading: boolean;
  /** Idempotent; never throws. */
  close(): Promise<void>;
  /** Only what must not be left behind, at once, also while `close` is under way. */
  closeEssential(): Promise<void>;
}

interface Closer {
  name: string;
  limitMilliseconds: number;
  close: () => Promise<void> | void;
}

export function createLifetime(logger: Pick<Logger, "error" | "warn">): Lifetime {
  const stopping = new AbortController();
  const closers: Closer[] = [];
  const essential: Closer[] = [];
  let closed: Promise<void> | undefined;
  let reloading = false;

  async function closeOne({ name, limitMilliseconds, close }: Closer): Promise<void> {
    const late = sleep(limitMilliseconds, "late" as const, { ref: false });
    try {
      const outcome = await Promise.race([close(), late]);
      if (outcome === "late") logger.warn({ part: name }, "A part of the server did not stop in time");
    } catch (error) {
      logger.error({ err: error, part: name }, "A part of the server failed while it was stopped");
    }
  }

  async function closeAll(): Promise<void> {
    for (let closer = closers.pop(); closer; closer = closers.pop()) await closeOne(closer);
  }

  return {
    stopping: stopping.signal,
    add(name, limitMilliseconds, close, options) {
      const closer = { name, limitMilliseconds, close };
      closers.push(closer);
      if (options?.essential) essential.push(closer);
    },
    get reloading() {
      return reloading;
    },
    beginEnd() {
      reloading = false;
      stopping.abort();
    },
    beginReload() {
      if (stopping.signal.aborted) return;
      reloading = true;
      stopping.abort();
    },
    close() {
      stopping.abort();
      closed ??= closeAll();
      return closed;
    },
    async closeEssential() {
      stopping.abort();
      await Promise.all(essential.map(closeOne));
    },
  };
}
