import type { NumberedEvent } from "../protocol/sidecar.ts";
import type { SidecarClient } from "../sandboxes/sidecar-client.ts";
import { type BusTimings, readEvents } from "./event-reader.ts";
import type { SessionTree } from "./session-tree.ts";

/** Events of one turn, in order, each once. Ends when closed, by itself or with the bus; throws when the bus is dead. */
export interface EventSubscription extends AsyncIterable<NumberedEvent> {
  close(): void;
}

/** The bus's side of it. */
export interface SubscriptionEnd {
  subscription: EventSubscription;
  offer(event: NumberedEvent): void;
  /** After what is queued, reading throws `error`, or ends where there is none. */
  end(error: unknown | null): void;
}

/**
 * `live`: the bus offers each event as it comes. `behind`: a reading of its own, from its own number,
 * catches up with the bus; so begins whoever starts in the past, and whoever was too slow for its
 * queue. Nothing is lost by that, and a slow reader holds no more than its queue.
 */
export function createSubscription(input: {
  sidecar: SidecarClient;
  timings: BusTimings;
  tree: SessionTree;
  after: number;
  /** The last number that the bus has passed. */
  passed(): number;
  maxQueued: number;
  onClose(): void;
}): SubscriptionEnd {
  const { tree, maxQueued } = input;
  const closing = new AbortController();
  const queue: NumberedEvent[] = [];
  let position = input.after;
  let mode: "live" | "behind" = "live";
  let ended: { error: unknown | null } | null = null;
  let wakeReader = () => {};
  let wakeWriter = () => {};

  function push(event: NumberedEvent): void {
    const number = numberOf(event);
    if (number <= position) return;
    position = number;
    if (!tree.includes(event)) return;
    queue.push(event);
    wakeReader();
  }

  function offer(event: NumberedEvent): void {
    if (mode === "behind" || ended) return;
    if (queue.length < maxQueued) push(event);
    else catchUp();
  }

  function catchUp(): void {
    mode = "behind";
    readEvents({
      sidecar: input.sidecar,
      timings: input.timings,
      signal: closing.signal,
      position: () => position,
      async onEvent(event) {
        if (event.type !== "hello") push(event);
        // Compared in the same step as the change of mode, so that no event falls between the two.
        if (position >= input.passed()) {
          mode = "live";
          return "enough";
        }
        while (queue.length >= maxQueued) await room();
        return undefined;
      },
    }).catch((error) => end(closing.signal.aborted ? null : error));
  }

  function room(): Promise<void> {
    closing.signal.throwIfAborted();
    return new Promise((resolve) => {
      wakeWriter = resolve;
    });
  }

  function end(error: unknown | null): void {
    if (ended) return;
    ended = { error };
    closing.abort();
    input.onClose();
    wakeReader();
    wakeWriter();
  }

  async function* read(): AsyncGenerator<NumberedEvent> {
    try {
      for (;;) {
        const event = queue.shift();
        if (event) {
          wakeWriter();
          yield event;
        } else if (ended) {
          if (ended.error) throw ended.error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            wakeReader = resolve;
          });
        }
      }
    } finally {
      end(null);
    }
  }

  if (input.after < input.passed()) catchUp();
  return { subscription: { close: () => end(null), [Symbol.asyncIterator]: read }, offer, end };
}

export function numberOf(event: NumberedEvent): number {
  if (event.type === "hello") return 0;
  return event.type === "gap" ? event.to : event.number;
}
