import { setTimeout as sleep } from "node:timers/promises";
import { type AppError, faultError } from "../errors.ts";
import type { NumberedEvent } from "../protocol/sidecar.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { agentTimeouts } from "./create-agent-client.ts";

export const busTimings = {
  /** Until the sidecar's first word on a connection. */
  connectMilliseconds: agentTimeouts.connect,
  /** Doubled after each failure. */
  firstPauseMilliseconds: 1_000,
  maxPauseMilliseconds: 8_000,
  /** Without a connection for as long as this, the reading is given up. */
  awayMilliseconds: 60_000,
};
export type BusTimings = typeof busTimings;

/**
 * Reads numbered events after `position()`, connecting again for as long as it is away less than the
 * limit. Returns when `onEvent` says that it is enough; throws `stream-error` when it gives up, and the
 * signal's reason when told to stop.
 */
export async function readEvents(input: {
  sidecar: SidecarClient;
  timings: BusTimings;
  signal: AbortSignal;
  position(): number;
  onEvent(event: NumberedEvent): Promise<"enough" | undefined> | "enough" | undefined;
  onLost?(): void;
}): Promise<void> {
  const { timings, signal } = input;
  let awaySince = performance.now();
  let pause = timings.firstPauseMilliseconds;
  for (;;) {
    let failure: unknown = null;
    const away = () => timings.awayMilliseconds - (performance.now() - awaySince);
    try {
      const end = await readOnce(input, {
        patience: Math.min(timings.connectMilliseconds, Math.max(1, away())),
        onConnected() {
          awaySince = Number.POSITIVE_INFINITY;
          pause = timings.firstPauseMilliseconds;
        },
      });
      if (end === "enough") return;
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
    input.onLost?.();
    if (awaySince === Number.POSITIVE_INFINITY) awaySince = performance.now();
    if (away() <= 0) throw streamError(failure);
    await sleep(Math.min(pause, away()), undefined, { signal }).catch(() => signal.throwIfAborted());
    pause = Math.min(pause * 2, timings.maxPauseMilliseconds);
  }
}

export function streamError(cause?: unknown): AppError {
  return faultError("agent-lost", { cause, code: "stream-error" });
}

async function readOnce(
  { sidecar, signal, position, onEvent }: Parameters<typeof readEvents>[0],
  { patience, onConnected }: { patience: number; onConnected(): void },
): Promise<"enough" | undefined> {
  const attempt = new AbortController();
  const late = setTimeout(() => attempt.abort(faultError("sandbox-late")), patience);
  const either = AbortSignal.any([signal, attempt.signal]);
  try {
    for await (const event of sidecar.events(position(), either)) {
      signal.throwIfAborted();
      if (event.type === "hello") {
        clearTimeout(late);
        onConnected();
      }
      if ((await onEvent(event)) === "enough") return "enough";
    }
    return undefined;
  } finally {
    clearTimeout(late);
    attempt.abort();
  }
}
