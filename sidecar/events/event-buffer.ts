import type { NumberedEvent } from "../../server/protocol/sidecar.ts";

type Unnumbered<Event> = Event extends { number: number } ? Omit<Event, "number"> : never;

/**
 * The last events of this boot, numbered from 1, ready to be sent. Bounded by count and by bytes:
 * a command that prints much repeats its whole output with each event. Readers keep a number, not
 * a queue, so a slow one costs nothing and finds a gap when it comes too late.
 */
export interface EventBuffer {
  append(event: Unnumbered<NumberedEvent>): number;
  readonly oldest: number;
  readonly last: number;
  /** Encoded events after `number`, about as many as fit into `maxBytes`; null when there is a gap first. */
  read(number: number, maxBytes: number): { text: string; last: number } | null;
  /** Resolves with the next append, or when aborted. */
  wait(signal: AbortSignal): Promise<void>;
}

export interface EventBufferOptions {
  maxEvents?: number;
  maxBytes?: number;
}

export function createEventBuffer({
  maxEvents = 50_000,
  maxBytes = 64 * 1024 * 1024,
}: EventBufferOptions = {}): EventBuffer {
  // `events[0]` has the number `oldest`, but for `dropped` leading ones that are cut off now and then.
  let events: string[] = [];
  let dropped = 0;
  let oldest = 1;
  let last = 0;
  let bytes = 0;
  const waiting = new Set<() => void>();

  function shrink(): void {
    while (last >= oldest && (last - oldest + 1 > maxEvents || bytes > maxBytes)) {
      bytes -= Buffer.byteLength(events[dropped] ?? "");
      events[dropped] = "";
      dropped += 1;
      oldest += 1;
    }
    if (dropped > 1_000 && dropped > events.length / 2) {
      events = events.slice(dropped);
      dropped = 0;
    }
  }

  return {
    append(event) {
      last += 1;
      const text = `id: ${last}\ndata: ${JSON.stringify({ ...event, number: last })}\n\n`;
      events.push(text);
      bytes += Buffer.byteLength(text);
      shrink();
      for (const wake of waiting) wake();
      return last;
    },
    get oldest() {
      return oldest;
    },
    get last() {
      return last;
    },
    read(number, most) {
      if (number + 1 < oldest) return null;
      let text = "";
      let at = number;
      while (at < last && (text === "" || text.length < most)) {
        text += events[dropped + at + 1 - oldest];
        at += 1;
      }
      return { text, last: at };
    },
    wait(signal) {
      return new Promise((resolve) => {
        const wake = () => {
          waiting.delete(wake);
          signal.removeEventListener("abort", wake);
          resolve();
        };
        if (signal.aborted) return resolve();
        waiting.add(wake);
        signal.addEventListener("abort", wake);
      });
    },
  };
}
